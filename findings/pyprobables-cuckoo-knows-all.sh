#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A cuckoo filter of pyprobables 0.7.0 that is made for a rate of errors, `CuckooFilter.init_error_rate(0.01,
# capacity=10000)`, of 10,000 bins with four places each. How many of 10,000 device tokens that are not in it it has for
# it, instead of one in a hundred:
#
# - with 100 tokens in it, one in eleven; with 1,000, six in ten; with 10,000, each one.
# - With a rate of 0.001 and 10,000 tokens, seven in ten; with 0.0001, seven in a hundred.
#
# It says of itself that its rate of errors is what was asked for, and is a fortieth full. `BloomFilter` of the same
# library, for 10,000 tokens and 0.01, has one in a hundred. A cuckoo filter that is made without a rate has none.
#
# Both bins of a token follow from its fingerprint alone, which has 10 bits for a rate of 0.01: there are 1,024 tokens
# for it, wherever there is room.
#
# Guessed before it was run: each filter has at most the rate that it was made for, until it is full.
#
# Whoever drops with it what has been sent already drops all new pushes after the first few thousand.
#
# Fails if a filter answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyprobables==0.7.0
"$folder/python/bin/python" - <<'PYTHON'
import hashlib
import importlib.metadata

import probables

tokens = [hashlib.sha256(str(device).encode()).hexdigest() for device in range(20000)]
known, others = tokens[:10000], tokens[10000:]


def wrong(known_so_far, kind):
    for token in known[:known_so_far]:
        kind.add(token)
    assert all(kind.check(token) for token in known[:known_so_far])
    return sum(map(kind.check, others)) / len(others)


def cuckoo(rate):
    return probables.CuckooFilter.init_error_rate(rate, capacity=10000)


print("pyprobables", importlib.metadata.version("pyprobables"))
for rate, number, least, most in (
    (0.01, 100, 0.08, 0.11),
    (0.01, 1000, 0.6, 0.67),
    (0.01, 10000, 1, 1),
    (0.001, 10000, 0.68, 0.73),
    (0.0001, 10000, 0.06, 0.09),
):
    kind = cuckoo(rate)
    seen = wrong(number, kind)
    print(
        f"  a cuckoo filter for {rate} with {number} tokens: {seen:.2%} of the others are in it; it says"
        f" {kind.error_rate:.2%}, and is {kind.load_factor():.1%} full with {kind.elements_added}"
    )
    assert least <= seen <= most and kind.error_rate == rate, seen
    if (rate, number) == (0.01, 10000):
        assert kind.fingerprint_size_bits == 10 and kind.elements_added == 1024 and kind.load_factor() < 0.03

bloom = wrong(10000, probables.BloomFilter(est_elements=10000, false_positive_rate=0.01))
plain = wrong(10000, probables.CuckooFilter(capacity=10000))
print(f"  a Bloom filter for 0.01: {bloom:.2%}; a cuckoo filter without a rate: {plain:.2%}")
assert 0.007 < bloom < 0.013 and plain < 0.001, (bloom, plain)
PYTHON
