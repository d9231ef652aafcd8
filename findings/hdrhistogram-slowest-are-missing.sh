#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A histogram of hdrhistogram 0.10.8 for times from 1 ms to a minute, `HdrHistogram(1, 60000, 3)`. 98 pushes took 10 ms,
# and two took 70 s. Its `record_value` of the latter returns False, raises nothing, and counts nothing: there are 98
# values, and the 99th percentile and the maximum are 10 ms. In a histogram up to an hour they are 70 s. What is up to
# 65,535 ms is counted, though above the limit.
#
# Its counts end at the next power of two, and what is behind them has no place.
#
# What one would guess: what is above the limit counts as the limit, as in the last bucket of Prometheus's histograms,
# or raises an error, as `add` of a histogram with such a value does.
#
# The slower a gateway becomes, the better it looks: what takes longer than the limit counts as if it had not been.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: hdrhistogram==0.10.8
"$folder/python/bin/python" - <<'PYTHON'
from hdrh.histogram import HdrHistogram


def measured(limit, slow):
    histogram = HdrHistogram(1, limit, 3)
    counted = [histogram.record_value(milliseconds) for milliseconds in [10] * 98 + [slow] * 2]
    return (
        counted[-1],
        histogram.get_total_count(),
        histogram.get_value_at_percentile(99),
        histogram.get_max_value(),
    )


for limit, slow, expected in (  # to three digits
    (60_000, 70_000, (False, 98, 10, 10)),
    (60_000, 65_536, (False, 98, 10, 10)),
    (60_000, 65_000, (True, 100, 65_023, 65_023)),
    (3_600_000, 70_000, (True, 100, 70_015, 70_015)),
):
    seen = measured(limit, slow)
    print(f"up to {limit} ms, 98 of 10 ms and 2 of {slow}: record_value {seen[0]}; {seen[1]} values", end="; ")
    print(f"99th percentile {seen[2]} ms, maximum {seen[3]} ms")
    assert seen == expected, seen
wide = HdrHistogram(1, 3_600_000, 3)
wide.record_value(70_000)
try:
    HdrHistogram(1, 60_000, 3).add(wide)
    raise SystemExit("add took it")
except IndexError as error:
    print("add:", error)
PYTHON
