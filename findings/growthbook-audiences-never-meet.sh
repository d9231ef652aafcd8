#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two pushes go to a tenth each of 10,000 users, which growthbook 4.0.0 picks by the user's id and the push's key:
# `Experiment(key="push-1", coverage=0.1, …)`, with what else it has. Each has about 1,000. How many have both:
#
# - push-1 and push-2: none. push-1 and push-3: four.
# - push-1 and push-9: 480, half of either. push-0 and push-8: 503.
# - 2026-12-01 and 2026-12-02: none.
# - With `hashVersion=2`: 111, 96, 103, 98 and 110 of these pairs.
#
# The number of a user is a hash of 32 bits (FNV-1a) of the id with the key behind it. If two keys differ in the last
# letter only, so do two numbers only in a step that is almost the same for all users.
#
# Guessed before it was run: a tenth of a tenth, about 100, as two keys are two draws.
#
# Whoever numbers pushes, and compares those who had push-2 with those who had not, compares people of whom none had
# push-1 with people of whom one in nine had it. With push-1 and push-9 half have both, and are asked twice.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: growthbook==4.0.0
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import functools
import importlib.metadata

import growthbook

PAIRS = [("push-1", "push-2"), ("push-1", "push-3"), ("push-1", "push-9"), ("push-0", "push-8")]
PAIRS.append(("2026-12-01", "2026-12-02"))


@functools.cache
def audience(key, **options):
    experiment = growthbook.Experiment(key=key, variations=[0, 1], weights=[0, 1], coverage=0.1, **options)
    users = [f"user-{number}" for number in range(10_000)]
    chosen = {one for one in users if growthbook.GrowthBook(attributes={"id": one}).run(experiment).inExperiment}
    assert 900 < len(chosen) < 1100, len(chosen)
    return chosen


both = [len(audience(first) & audience(second)) for first, second in PAIRS]
newer = [len(audience(first, hashVersion=2) & audience(second, hashVersion=2)) for first, second in PAIRS]
print(f"growthbook {importlib.metadata.version('growthbook')}: {PAIRS} have {both} in common; with 2, {newer}")
assert both == [0, 4, 480, 503, 0], both
assert all(70 < number < 140 for number in newer), newer
PYTHON
