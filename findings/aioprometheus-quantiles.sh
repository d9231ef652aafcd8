#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A Summary of aioprometheus 23.12.0 (with quantile-python 1.1, on which it depends) observes 1,000 pushes, of which 900
# took 10 ms and 100 took 5 s, first these and then those, or in any order. It says that the quantile 0.99 is 10 ms.
#
# It allows itself errors of 0.05 for the quantile 0.5, 0.01 for 0.9 and 0.001 for 0.99. Of the numbers from 1 to 1000,
# in this order, it says 275, 454 and 496, which are the quantiles 0.275, 0.454 and 0.496. Of those from 1 to 10,000, in
# any order, 0.99 is below 9,700. The count and the sum are right.
#
# What one would guess: each quantile is right within its error.
#
# Whoever has an alert on the 99th percentile of the latency does not hear that each tenth push is slow.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  --no-binary quantile-python aioprometheus==23.12.0 quantile-python==1.1
"$folder/python/bin/python" - <<'PYTHON'
import random

import aioprometheus
from aioprometheus.formats import text

random.seed(1)


def said(name, values):
    """What a new Summary with this name says of the values: the quantiles 0.5, 0.9 and 0.99."""
    summary = aioprometheus.Summary(name, "of pushes")
    for value in values:
        summary.observe({}, value)
    samples = dict(line.split() for line in text.TextFormatter().marshall_collector(summary).splitlines()[2:])
    assert float(samples[f"{name}_count"]) == len(values), samples
    assert abs(float(samples[f"{name}_sum"]) - sum(values)) < 1e-6 * sum(values), samples
    quantiles = [float(samples[f'{name}{{quantile="{quantile}"}}']) for quantile in ("0.5", "0.9", "0.99")]
    print(f"{name}: {quantiles}")
    return quantiles


invariants = aioprometheus.Summary("none", "").invariants
assert invariants == ((0.5, 0.05), (0.9, 0.01), (0.99, 0.001)), invariants
seconds = [0.01] * 900 + [5.0] * 100
assert said("slow_last", seconds) == [0.01, 0.01, 0.01]
random.shuffle(seconds)
assert said("slow_among", seconds) == [0.01, 0.01, 0.01]
assert said("ascending", range(1, 1001)) == [275, 454, 496]
numbers = list(range(1, 10_001))
random.shuffle(numbers)
assert said("shuffled", numbers)[2] < 9_700
PYTHON
