#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A t-digest of 1,000 pushes, of which 900 took 10 ms and 100 took 5,000 ms, in any order. tdigest 0.5.2.2 has a median
# of 509 ms; 5,000 ms and 10 ms are all there is. Its 75th percentile is 3,004 ms, and the 25th is two seconds less than
# nothing: -1,986 ms. The digests of fastdigest 0.12.0, crick 0.0.8 and datasketches 5.2.0 have 10 ms for all three.
# With 900 times that differ, between 10 and 15 ms, tdigest's median is right.
#
# Equal values are one point with a weight, and between two points it draws a line, as if the 900 lay spread around
# theirs; here there are two points.
#
# What one would guess: fewer different values are the easier case, and no estimate is less than the least value.
#
# Times that are rounded to whole milliseconds, or come from a histogram's bounds, are few different values.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
# tdigest needs accumulation-tree and pyudorandom, of which there are no wheels for each Python.
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary tdigest==0.5.2.2 fastdigest==0.12.0 \
  crick==0.0.8 datasketches==5.2.0
"$folder/python/bin/python" - <<'PYTHON'
import random

import crick
import datasketches
import fastdigest
import tdigest


def with_tdigest(values):
    digest = tdigest.TDigest()
    for value in values:
        digest.update(value)
    return [digest.percentile(percent) for percent in (25, 50, 75)]


def with_fastdigest(values):
    digest = fastdigest.TDigest.from_values([float(value) for value in values])
    return [digest.quantile(percent / 100) for percent in (25, 50, 75)]


def with_crick(values):
    digest = crick.TDigest()
    for value in values:
        digest.add(value)
    return [digest.quantile(percent / 100) for percent in (25, 50, 75)]


def with_datasketches(values):
    digest = datasketches.tdigest_double()
    for value in values:
        digest.update(value)
    return [digest.get_quantile(percent / 100) for percent in (25, 50, 75)]


chance = random.Random(1)
equal = [10] * 900 + [5000] * 100
spread = [10 + chance.random() * 5 for _ in range(900)] + [5000] * 100
for values in (equal, spread):
    chance.shuffle(values)
for way, expected in (
    (with_tdigest, [-1986, 509, 3004]),
    (with_fastdigest, [10, 10, 10]),
    (with_crick, [10, 10, 10]),
    (with_datasketches, [10, 10, 10]),
):
    seen = [round(float(value), 1) for value in way(equal)]
    median_of_spread = way(spread)[1]
    print(f"{way.__name__}: quarters {seen}; the median of times that differ {median_of_spread:.1f}")
    assert seen == expected and 12 < median_of_spread < 13.5, (seen, median_of_spread)
PYTHON
