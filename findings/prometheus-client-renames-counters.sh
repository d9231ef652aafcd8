#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An exposition in Prometheus's text format has a counter `apns_pushes`, without `_total`, which that format allows and
# many exporters have. The reader of prometheus-client 0.26.0, `text_string_to_metric_families`, gives its samples the
# name `apns_pushes_total`, and so does what is written of them with `generate_latest`, in either format. Gauges,
# histograms, summaries and metrics without a type keep their names.
#
# What one would guess: what is read and written again has the names that it had; `_total` is asked for by OpenMetrics,
# which is another format with another reader.
#
# Whoever puts a small program between to filter, merge or add labels has alerts and graphs that find no `apns_pushes`
# any more, and an alert on a rate that finds nothing does not fire.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: prometheus-client==0.26.0
"$folder/python/bin/python" - <<'PYTHON'
import prometheus_client
import prometheus_client.openmetrics.exposition
import prometheus_client.parser

text = """\
# TYPE apns_pushes counter
apns_pushes{status="200"} 3
# TYPE apns_retries_total counter
apns_retries_total 1
# TYPE apns_connections gauge
apns_connections 2
# TYPE apns_seconds histogram
apns_seconds_bucket{le="+Inf"} 3
apns_seconds_sum 1
apns_seconds_count 3
# TYPE apns_bytes summary
apns_bytes_sum 300
apns_bytes_count 3
apns_build 7
"""


class Filter:
    def collect(self):
        return prometheus_client.parser.text_string_to_metric_families(text)


def names(text):
    return [line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if not line.startswith("#")]


had = names(text)
now = [f"{had[0]}_total", *had[1:]]
samples = [sample.name for family in Filter().collect() for sample in family.samples]
older = names(prometheus_client.generate_latest(Filter()).decode())
newer = names(prometheus_client.openmetrics.exposition.generate_latest(Filter()).decode())
for what, seen in (("had", had), ("read", samples), ("written again", older), ("written as OpenMetrics", newer)):
    print(f"{what}:", *seen)
assert samples == older == newer == now, samples
assert had[0] == "apns_pushes"
PYTHON
