#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Grants each program's Kafka user the rights that docs/kafka.md lists, and no others, with Kafka's own tool.
#
#   BOOTSTRAP=kafka-1:9092 COMMAND_CONFIG=admin.properties deploy/rights.sh
#
# COMMAND_CONFIG names a file with the settings of a user that may alter access control lists; KAFKA_ACLS
# (kafka-acls.sh) may be set.
set -euo pipefail

bootstrap=${BOOTSTRAP:?the address of the cluster, such as kafka-1:9092}
tool=${KAFKA_ACLS:-kafka-acls.sh}
options=(--bootstrap-server "$bootstrap")
if [ -n "${COMMAND_CONFIG:-}" ]; then options+=(--command-config "$COMMAND_CONFIG"); fi

while read -r -a words; do
  "$tool" "${options[@]}" "${words[@]:1}" </dev/null
done <<'COMMANDS'
kafka-acls.sh --add --allow-principal User:martlet-ingest --operation Read --operation DescribeConfigs --topic push.requests --topic push.invalid-tokens --topic push.campaign-requests
kafka-acls.sh --add --allow-principal User:martlet-ingest --operation Write --operation DescribeConfigs --topic push.notifications --topic push.notifications.bulk --topic push.receipts --topic push.dead-letters --topic push.schedule
kafka-acls.sh --add --allow-principal User:martlet-ingest --operation Read --group martlet-ingest
kafka-acls.sh --add --allow-principal User:martlet-sender --operation Read --operation Write --operation DescribeConfigs --topic push.notifications --topic push.notifications.bulk --topic push.retries.5s --topic push.retries.1m --topic push.retries.15m
kafka-acls.sh --add --allow-principal User:martlet-sender --operation Write --operation DescribeConfigs --topic push.receipts --topic push.feedback --topic push.token-requests --topic push.dead-letters
kafka-acls.sh --add --allow-principal User:martlet-sender --operation Read --operation DescribeConfigs --topic push.invalid-tokens --topic push.provider-tokens --topic push.controls
kafka-acls.sh --add --allow-principal User:martlet-sender --operation Read --group martlet-sender
kafka-acls.sh --add --allow-principal User:martlet-feedback --operation Read --operation DescribeConfigs --topic push.feedback --topic push.devices
kafka-acls.sh --add --allow-principal User:martlet-feedback --operation Read --operation Write --operation DescribeConfigs --topic push.invalid-tokens
kafka-acls.sh --add --allow-principal User:martlet-feedback --operation Write --operation DescribeConfigs --topic push.dead-letters
kafka-acls.sh --add --allow-principal User:martlet-feedback --operation Read --group martlet-feedback
kafka-acls.sh --add --allow-principal User:martlet-signer --operation Read --operation Write --operation DescribeConfigs --topic push.provider-tokens
kafka-acls.sh --add --allow-principal User:martlet-signer --operation Read --operation DescribeConfigs --topic push.token-requests
kafka-acls.sh --add --allow-principal User:martlet-signer --operation Read --group martlet-signer
kafka-acls.sh --add --allow-principal User:martlet-api --operation Write --operation DescribeConfigs --topic push.requests --topic push.devices --topic push.schedule
kafka-acls.sh --add --allow-principal User:martlet-api --operation Read --operation Write --operation DescribeConfigs --topic push.controls
kafka-acls.sh --add --allow-principal User:martlet-webhooks --operation Read --operation DescribeConfigs --topic push.receipts --topic push.devices --topic push.invalid-tokens
kafka-acls.sh --add --allow-principal User:martlet-webhooks --operation Write --operation DescribeConfigs --topic push.dead-letters
kafka-acls.sh --add --allow-principal User:martlet-webhooks --operation Read --group martlet-webhooks --resource-pattern-type prefixed
kafka-acls.sh --add --allow-principal User:martlet-scheduler --operation Write --operation DescribeConfigs --topic push.requests --topic push.dead-letters --topic push.campaign-requests
kafka-acls.sh --add --allow-principal User:martlet-scheduler --operation Read --operation DescribeConfigs --topic push.receipts --topic push.audiences
kafka-acls.sh --add --allow-principal User:martlet-scheduler --operation Read --operation Write --operation DescribeConfigs --topic push.controls --topic push.schedule
kafka-acls.sh --add --allow-principal User:martlet-scheduler --operation Read --group martlet-scheduler
kafka-acls.sh --add --allow-principal User:martlet-canary --operation Write --operation DescribeConfigs --topic push.requests
kafka-acls.sh --add --allow-principal User:martlet-canary --operation Read --operation DescribeConfigs --topic push.receipts
COMMANDS
