#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints requests for compose.yaml, 20 per second, until it is stopped: `martlet import -` produces them.
#   traffic.sh [COUNT]    ends after COUNT requests
count=0
while [ -z "$1" ] || [ "$count" -lt "$1" ]; do
  token=$(od -A n -t x1 -v -N 32 /dev/urandom | tr -d ' \n')
  printf '{"app":"com.example.app","token":"%s","payload":{"aps":{"alert":{"title":"Order","body":"number %d"}}}}\n' \
    "$token" "$count" || exit
  count=$((count + 1))
  sleep 0.05
done
