#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Creates Martlet's topics with Kafka's own tool, for clusters where `martlet topics create` may
# not. The list is the same.
#
#   BOOTSTRAP=kafka-1:9092 REPLICATION=3 deploy/topics.sh
#
# PREFIX (push.), REPLICATION (3) and KAFKA_TOPICS (kafka-topics.sh) may be set; COMMAND_CONFIG
# names a file with security settings.
set -euo pipefail

bootstrap=${BOOTSTRAP:?the address of the cluster, such as kafka-1:9092}
prefix=${PREFIX:-push.}
replication=${REPLICATION:-3}
tool=${KAFKA_TOPICS:-kafka-topics.sh}
options=(--bootstrap-server "$bootstrap")
if [ -n "${COMMAND_CONFIG:-}" ]; then options+=(--command-config "$COMMAND_CONFIG"); fi

# Two copies must have a record before it counts as written, where there are that many.
in_sync=1
if [ "$replication" -ge 3 ]; then in_sync=2; fi

# name partitions setting=value...: see deploy/topics.txt
grep -v '^#' "$(dirname "$0")/topics.txt" | while read -r name partitions settings; do
  [ -n "$name" ] || continue
  configs=(--config "min.insync.replicas=$in_sync")
  for setting in $settings; do configs+=(--config "$setting"); done
  echo "$prefix$name: $partitions partitions, $settings"
  "$tool" "${options[@]}" --create --if-not-exists --topic "$prefix$name" \
    --partitions "$partitions" --replication-factor "$replication" "${configs[@]}" </dev/null
done
