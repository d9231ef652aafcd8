#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `promtool test rules` of Prometheus 2.42.0 (that of Debian 12) and a test that an alert is quiet, `exp_alerts: []`,
# where the series would make it fire. With the right names the test fails, as it should. It passes, with "SUCCESS" and
# 0, if
#
# - the alert's name is none of the rules' (`PushesFial`),
# - the file of the rules is not there: there is a line "WARNING: no file match pattern", whether the name has a `*` or not,
# - `interval` is 10m, so that `rate(…[5m])` has never two values.
#
# A field of the test that does not exist is an error with 1, and so is an `alertname` with an alert that is expected.
#
# Guessed before it was run: a test of a rule that does not exist, or of a file that does not, is an error.
#
# Whoever renames an alert, or a file, has tests of its quiet half that are green for ever and look at nothing.
#
# Fails if it answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download prometheus=2.42.0* 2> /dev/null
dpkg -x prometheus_*.deb prometheus
prometheus/usr/bin/promtool --version | grep -m 1 '^promtool, version 2\.42\.0'
cat > rules.yml << 'RULES'
groups:
- name: pushes
  rules:
  - alert: PushesFail
    expr: rate(pushes_failed_total[5m]) > 0
RULES

look() { # the code, what it says, and what is other than right in the test
  local expected=$1 says=$2 code=0
  cat > test.yml << 'TEST'
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
- interval: 1m
  input_series:
  - {series: pushes_failed_total, values: 0+60x60}
  alert_rule_test:
  - {eval_time: 30m, alertname: PushesFail, exp_alerts: []}
TEST
  [ $# = 2 ] || sed -i "$3" test.yml
  prometheus/usr/bin/promtool test rules test.yml > said 2>&1 || code=$?
  echo "${3:-all right}: ends with $code: $(grep -m 1 -e "$says" said)"
  [ "$code" = "$expected" ]
}

look 1 FAILED
look 0 SUCCESS s/PushesFail,/PushesFial,/
look 0 'WARNING: no file match pattern rulez.yml' s/rules.yml/rulez.yml/
grep -q SUCCESS said
look 0 'WARNING: no file match pattern rulez\*.yml' 's/rules.yml/rulez*.yml/'
grep -q SUCCESS said
look 0 SUCCESS 's/- interval: 1m/- interval: 10m/'
look 1 'field alertnames not found' s/alertname:/alertnames:/
look 1 FAILED 's/PushesFail, exp_alerts: \[\]/PushesFial, exp_alerts: [{}]/'
