#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# snowflake-id 1.0.2: `next(generator)` returns None, and raises no error, while the clock is behind where it was at the
# last id. If the clock is set back by two seconds, as it may be when NTP corrects it, all ids of the next two seconds
# are None. So are those of a millisecond after its 4,096th. `for id in generator` gives None too.
#
# What one would guess: it waits, or goes on from the last time, or raises an error.
#
# Whoever has these as ids of pushes has many pushes of the one id None, or "None" in a text: what drops duplicates
# drops all but the first.
#
# Fails if it answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: snowflake-id==1.0.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import itertools
import unittest.mock

import snowflake
import snowflake.snowflake

now = 1795953600.0  # what the clock says
print("snowflake-id", importlib.metadata.version("snowflake-id"))
with unittest.mock.patch.object(snowflake.snowflake, "time", lambda: now):
    generator = snowflake.SnowflakeGenerator(1)
    seen = []
    for change in (1, 0.001, -2, 1, 0.9, 0.2):
        now += change
        seen.append(next(generator))
        print(f"  {change:+} s: {seen[-1]}")
    assert [one is None for one in seen] == [False, False, True, True, True, False], seen

    now += 1
    at_once = list(itertools.islice(generator, 5000))
    print(f"  5,000 in a millisecond: {sum(one is None for one in at_once)} are None")
    assert None not in at_once[:4096] and at_once[4096:] == [None] * 904
PYTHON
