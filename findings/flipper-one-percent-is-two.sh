#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A new sound is for one in a hundred of 10,000 users, with a flag of flipper-client 1.3.2 and its
# `ConsistentHashPercentageBucketer(key_whitelist=["user"], percentage=Percentage(0.01))`. How many have it:
#
# - 0.01: 2 in 100, about 200 of them. 0.1: 11 in 100. 0.5: 51 in 100.
# - 0.001, one in a thousand: 1 in 100. 0.99, so that one in a hundred is left to compare with: all.
# - 0: none. 1: all.
#
# A user's hash is one of the hundred numbers 0.00 to 0.99, and those up to the percentage have it, it included.
# `PercentageBucketer`, which draws anew each time, has one in a hundred.
#
# What one would guess: 100, more or less, and a thousandth if one asks for one.
#
# Whoever tries a risk on a thousandth of the devices tries it on ten times as many; and whoever keeps one in a hundred
# out, to compare with, keeps nobody out.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: flipper-client==1.3.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import flipper
from flipper.bucketing import ConsistentHashPercentageBucketer, Percentage, PercentageBucketer

USERS = range(10_000)
client = flipper.FeatureFlagClient(flipper.MemoryFeatureFlagStore())
client.create("sound")
client.enable("sound")


def share(bucketer):
    client.set_bucketer("sound", bucketer)
    return sum(client.is_enabled("sound", user=f"user-{number}") for number in USERS)


def of_hash(percentage):
    return share(ConsistentHashPercentageBucketer(key_whitelist=["user"], percentage=Percentage(percentage)))


seen = {percentage: of_hash(percentage) for percentage in (0, 0.001, 0.01, 0.1, 0.5, 0.99, 1)}
print(f"flipper-client {importlib.metadata.version('flipper-client')}, of {len(USERS)} users: {seen}")
for percentage, parts in ((0, 0), (0.001, 1), (0.01, 2), (0.1, 11), (0.5, 51), (0.99, 100), (1, 100)):
    expected = 100 * parts
    assert abs(seen[percentage] - expected) <= (40 if expected < 1000 else 150), seen
assert seen[0] == 0 and seen[0.99] == seen[1] == len(USERS)
drawn = share(PercentageBucketer(percentage=Percentage(0.01)))
print(f"  PercentageBucketer at 0.01: {drawn}")
assert 50 < drawn < 160
PYTHON
