#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Bloom filters that grow when they are full, made for 1,000 device tokens and a rate of errors of 0.01. With 20,000
# tokens in them, how many of 20,000 others they have for known:
#
# - `ExpandingBloomFilter` of pyprobables 0.7.0: one in six.
# - `ScalableBloomFilter` of pybloom-live 4.0.0: one in forty.
# - `BloomFilter` of either, made for 20,000: one in a hundred.
#
# With 1,000 each of them is right. Each filter that is added has the whole rate of the first (pyprobables), or nine
# tenths of that before it (pybloom-live), and who asks is asked by all. In the paper on such filters each has a part of
# the rate, so that the sum of all stays below it.
#
# Guessed before it was run: what a filter that grows says of its rate of errors, it keeps when it has grown.
#
# Whoever drops with it what has been sent already, and starts small, loses one push in six, and more each day.
#
# Fails if a filter answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary pyprobables==0.7.0 pybloom-live==4.0.0
"$folder/python/bin/python" - <<'PYTHON'
import hashlib
import importlib.metadata

import probables
import pybloom_live

tokens = [hashlib.sha256(str(device).encode()).hexdigest() for device in range(40000)]
known, others = tokens[:20000], tokens[20000:]


def wrong(kind, number):
    for token in known[:number]:
        kind.add(token)
    assert all(token in kind for token in known[:number])
    return sum(token in kind for token in others) / len(others)


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("pyprobables", "pybloom-live")))
for name, make, least, most in (
    ("ExpandingBloomFilter", lambda: probables.ExpandingBloomFilter(1000, 0.01), 0.15, 0.19),
    ("ScalableBloomFilter", lambda: pybloom_live.ScalableBloomFilter(1000, 0.01), 0.02, 0.03),
    ("BloomFilter of pyprobables, made for all", lambda: probables.BloomFilter(20000, 0.01), 0.007, 0.013),
    ("BloomFilter of pybloom-live, made for all", lambda: pybloom_live.BloomFilter(20000, 0.01), 0.007, 0.013),
):
    first, seen = wrong(make(), 1000), wrong(make(), 20000)
    print(f"  {name}: {first:.2%} of the others with 1,000 tokens in it, {seen:.2%} with 20,000")
    assert first < 0.013 and least < seen < most, (first, seen)
PYTHON
