#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program counts pushes by status, and has a series for a status from its first push of it on, as client libraries
# with labels do. An alert asks `increase(pushes_total{status="500"}[5m]) > 0`. With Prometheus 2.42.0 (that of Debian
# 12), for which the series is not there and then 1 and stays so, the increase is 0: the first error never alerts. Nor
# do seven that come before the first time that Prometheus looks: it sees 7, and has no increase. The second error is
# seen: from 1 to 2. A series that is there with 0 from the beginning has the first too.
#
# A counter that begins is not compared with anything; only what is between two samples counts.
#
# What one would guess: a counter that was not there was 0, as each program that counts begins with that.
#
# Whoever has an alert for what is rare, a wrong key or a certificate that ran out, has one that does not come the
# first time after each start of a program, which for what is rare is each time.
#
# Fails if it says otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download prometheus > /dev/null # promtool needs the C library alone
dpkg-deb -x prometheus_*.deb .
./usr/bin/promtool --version 2>&1 | grep -o 'version 2\.42\.0'
cat > rules.yml <<'YAML'
groups:
  - name: pushes
    rules:
      - alert: PushRefused
        expr: increase(pushes_total{status="500"}[5m]) > 0
YAML
# One sample in 15 s: in each row, the samples of ten minutes, and how much the increase is at the time that is asked.
series() {
  cat <<YAML
  - interval: 15s
    name: $1
    input_series:
      - series: pushes_total{status="200"}
        values: 0+10x40
      - series: pushes_total{status="500"}
        values: $2
    promql_expr_test:
      - expr: round(increase(pushes_total{status="500"}[5m]))
        eval_time: 7m
        exp_samples: [{labels: '{status="500"}', value: $3}]
    alert_rule_test:
      - alertname: PushRefused
        eval_time: 7m
        exp_alerts: [$4]
YAML
}
fires='{exp_labels: {status: "500"}}'
{
  printf 'rule_files: [rules.yml]\nevaluation_interval: 15s\ntests:\n'
  series "a first error, at 5 min" "_x19 1x20" 0 ""
  series "seven errors before the first sample" "_x19 7x20" 0 ""
  series "a first error at 5 min, a second at 6 min" "_x19 1x3 2x16" 1 "$fires"
  series "there with 0 from the beginning, an error at 5 min" "0x19 1x20" 1 "$fires"
} > tests.yml
./usr/bin/promtool test rules tests.yml
grep -E '^ +(name|values: [^0]|values: 0x|exp_alerts)|value:' tests.yml
