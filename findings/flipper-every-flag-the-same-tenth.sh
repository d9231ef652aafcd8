#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two things are tried with a tenth of 5,000 users each: a new sound, and a digest in the morning. Who gets both:
#
# - flipper-client 1.3.2, two flags with `ConsistentHashPercentageBucketer(key_whitelist=["user"], percentage=0.1)`:
#   543, and 543, and both the same 543. A third flag at 0.05 has users of those alone.
# - GrowthBook 4.0.0, two features with a `force` rule of `coverage` 0.1: 46 have both.
#
# The bucket is a hash of the user, in which the flag's name is not. With a `campaign` that is whitelisted too, and
# given with each question, the tenths are two.
#
# Guessed before it was run: each flag has a tenth of its own, as its name is in the hash.
#
# Whoever compares those with a sound to those without compares the digest as well, and some users have all that is
# tried, each time, and nine in ten never any of it.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: flipper-client==1.3.2 \
  growthbook==4.0.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import logging

import flipper
import growthbook
from flipper.bucketing import ConsistentHashPercentageBucketer, Percentage

logging.disable(logging.CRITICAL)
USERS = range(5000)
client = flipper.FeatureFlagClient(flipper.MemoryFeatureFlagStore())


def with_flipper(name, share, *keys, **context):
    client.create(name)
    client.enable(name)
    bucketer = ConsistentHashPercentageBucketer(key_whitelist=["user", *keys], percentage=Percentage(share))
    client.set_bucketer(name, bucketer)
    return {user for user in USERS if client.is_enabled(name, user=user, **context)}


def with_growthbook(name):
    features = {name: {"defaultValue": False, "rules": [{"force": True, "coverage": 0.1, "hashAttribute": "id"}]}}

    def is_on(user):
        one = growthbook.GrowthBook(attributes={"id": f"{user}"}, features=features)
        return one.is_on(name)

    return {user for user in USERS if is_on(user)}


sound, digest = with_flipper("sound", 0.1), with_flipper("digest", 0.1)
third = with_flipper("third", 0.05)
seen = len(sound), len(digest), len(sound & digest)
print(f"flipper-client {importlib.metadata.version('flipper-client')}: {seen[0]}, {seen[1]}, both {seen[2]}")
assert seen == (543, 543, 543) and third < sound, seen
named = [with_flipper(f"{name}-2", 0.1, "campaign", campaign=name) for name in ("sound", "digest")]
assert len(named[0] & named[1]) < 100 and all(400 < len(tenth) < 600 for tenth in named)
sound, digest = with_growthbook("sound"), with_growthbook("digest")
seen = len(sound), len(digest), len(sound & digest)
print(f"growthbook {importlib.metadata.version('growthbook')}: {seen[0]}, {seen[1]}, both {seen[2]}")
assert 400 < seen[0] < 600 and 400 < seen[1] < 600 and 20 < seen[2] < 90, seen
PYTHON
