#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A counter of pushes by answer, made with opentelemetry-sdk 1.45.2 and read as Prometheus reads it, with
# opentelemetry-exporter-prometheus 0.66b2. Attributes that differ become one series, which the exposition then has more
# than once, with a number each, and without an error or a warning:
#
# - {"code": 200} from one place and {"code": "200"} from another: two lines of code="200". So it is with True and
#   "true".
# - {"apns.topic": "a"} and {"apns_topic": "a"}: two lines of apns_topic="a". A push that has both attributes, with "a"
#   and "b", is counted under "b" only, where OpenTelemetry's specification asks for "a;b".
#
# prometheus-client 0.26.0, which writes the text, reads it without an error. With its reader for this format the second
# number is the one that is left in a dictionary by series; that for OpenMetrics leaves out the second line.
#
# What one would guess: the two are added up, since one series is what they are, or one is refused.
#
# Whoever has the status as a number here and as a text there, such as "timeout", sees part of the pushes, and the rest
# in no graph: one series has one number at a time.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: opentelemetry-sdk==1.45.2 \
  opentelemetry-exporter-prometheus==0.66b2 prometheus-client==0.26.0
"$folder/python/bin/python" - <<'PYTHON'
import re

import prometheus_client
import prometheus_client.openmetrics.exposition
import prometheus_client.openmetrics.parser
import prometheus_client.parser
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

meter = MeterProvider(metric_readers=[PrometheusMetricReader()]).get_meter("pushes")


def count(name, *pushes):
    counter = meter.create_counter(name)
    for number, attributes in pushes:
        counter.add(number, attributes)
    text = prometheus_client.generate_latest().decode()
    found = re.findall(rf"^{name}_total{{(.*)}} (.*)$", text, re.MULTILINE)
    series = [(re.sub(r',?otel_scope_\w+="[^"]*"', "", labels).strip(","), float(value)) for labels, value in found]
    print(*(f"{attributes}: {number};" for number, attributes in pushes), "are the series", series)
    return series


assert count("answers", (1, {"code": 200}), (2, {"code": "200"})) == [('code="200"', 1), ('code="200"', 2)]
assert count("silent", (1, {"silent": True}), (2, {"silent": "true"})) == [
    ('silent="true"', 1),
    ('silent="true"', 2),
]
assert count(
    "topics", (1, {"apns.topic": "a"}), (2, {"apns_topic": "a"}), (4, {"apns.topic": "a", "apns_topic": "b"})
) == [('apns_topic="a"', 1), ('apns_topic="a"', 2), ('apns_topic="b"', 4)]

openmetrics = prometheus_client.openmetrics
for write, read, expected in (
    (prometheus_client.generate_latest, prometheus_client.parser, 2),
    (openmetrics.exposition.generate_latest, openmetrics.parser, 1),
):
    text = write(prometheus_client.REGISTRY).decode()
    families = read.text_string_to_metric_families(text)
    values = {(one.name, one.labels.get("code")): one.value for family in families for one in family.samples}
    print(f"{read.__name__}, as a dictionary:", values["answers_total", "200"])
    assert values["answers_total", "200"] == expected
PYTHON
