#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A counter of opentelemetry-sdk 1.45.2 counts one push each of 3,000 campaigns, `pushes.add(1, {"campaign": …})`. Of
# those it has 2,000 by name; the other 1,000 are one series with the attribute `otel.metric.overflow`, without a
# campaign, and so is each new campaign from then on, for as long as the process lives. The sum is right. Nothing is
# logged, also with all of Python's logging on. Which campaigns have a name depends on what came first. So it is with a
# histogram and with a gauge; of the gauge, whose last value counts, all but one of the 1,000 are gone.
# prometheus-client 0.26.0 has 3,000.
#
# So many series are the limit that OpenTelemetry's specification has. opentelemetry-sdk 1.30.0 has all 3,000.
#
# Guessed before it was run: all 3,000, and a program that needs memory for them.
#
# Whoever alerts on `sum by (campaign)`, or on a device's or a partition's gauge, has no alert for what came late, and
# another set of names in each process and after each start.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: prometheus-client==0.26.0

cat > "$folder/look.py" <<'PYTHON'
import importlib.metadata
import logging
import sys

import opentelemetry.sdk.metrics
import opentelemetry.sdk.metrics.export
import prometheus_client

logged = []


class Keep(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())


logging.basicConfig(level=logging.DEBUG, handlers=[Keep()])
reader = opentelemetry.sdk.metrics.export.InMemoryMetricReader()
meter = opentelemetry.sdk.metrics.MeterProvider([reader]).get_meter("pushes")
counter, histogram, gauge = meter.create_counter("count"), meter.create_histogram("time"), meter.create_gauge("lag")
other = prometheus_client.Gauge("lag", "", ["campaign"], registry=prometheus_client.CollectorRegistry())
for number in range(3000):
    counter.add(1, {"campaign": number})
    histogram.record(5, {"campaign": number})
    gauge.set(number, {"campaign": number})
    other.labels(number).set(number)


def read():
    metrics = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return {metric.name: list(metric.data.data_points) for metric in metrics}


def parts(points):
    named = [point for point in points if "campaign" in point.attributes]
    (rest,) = (point for point in points if "campaign" not in point.attributes)
    assert dict(rest.attributes) == {"otel.metric.overflow": True}, rest.attributes
    return named, rest


print("opentelemetry-sdk", importlib.metadata.version("opentelemetry-sdk"))
if sys.argv[1] == "all":
    print({name: len(points) for name, points in read().items()})
    assert all(len(points) == 3000 for points in read().values())
    sys.exit()
for name, points in read().items():
    named, rest = parts(points)
    amount = rest.count if name == "time" else rest.value
    print(f"  {name}: {len(named)} campaigns; the rest has {amount}")
    assert [point.attributes["campaign"] for point in named] == list(range(2000))
    assert amount == {"count": 1000, "time": 1000, "lag": 2999}[name]
counter.add(1, {"campaign": 3000})
counter.add(1, {"campaign": 0})
named, rest = parts(read()["count"])
print(f"  a new one later: {len(named)} campaigns; the rest has {rest.value}; logged: {logged}")
assert (len(named), named[0].value, rest.value, logged) == (2000, 2, 1001, [])
(family,) = other.collect()
print("prometheus-client", importlib.metadata.version("prometheus-client"), len(family.samples))
assert len(family.samples) == 3000
PYTHON

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "opentelemetry-sdk==$1"
  "$folder/python/bin/python" "$folder/look.py" "$2"
}

look 1.30.0 all
look 1.45.2 limited
