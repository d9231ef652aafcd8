#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An audience is picked by a pattern, `WHERE segment ~ 'vip'`, of four devices with the segments vip, vip-lapsed,
# not-vip and new:
#
# - DuckDB 1.1.3: one device, of vip alone. With `!~` it is the other three.
# - DuckDB 2.0.1: three devices, all but the last. With `!~` it is the one.
#
# `~ '^vip$'` and `SIMILAR TO 'vip'` have the one, and `regexp_matches(segment, 'vip')` the three, in both.
#
# The operator was one for the whole text, and is one for a part of it now, as that of PostgreSQL is.
#
# Guessed before it was run: an operator means what it meant, or the old form is an error.
#
# Whoever goes from one to the other sends what was for the few to those that are not among them, and leaves out with
# `!~` what was in.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/python/bin/python" - "$2" <<'PYTHON'
import sys

import duckdb

database = duckdb.connect()
segments = ["vip", "vip-lapsed", "not-vip", "new"]


def picked(condition):
    query = f"SELECT segment FROM (SELECT unnest(?) AS segment) WHERE {condition}"
    return [row[0] for row in database.execute(query, [segments]).fetchall()]


part, whole = picked("regexp_matches(segment, 'vip')"), picked("segment SIMILAR TO 'vip'")
assert (part, whole) == (segments[:3], segments[:1]), (part, whole)
assert picked("segment ~ '^vip$'") == whole
seen, others = picked("segment ~ 'vip'"), picked("segment !~ 'vip'")
print(f"DuckDB {duckdb.__version__}: {seen}, and with !~ {others}")
assert seen == (part if sys.argv[1] == "part" else whole), seen
assert others == [one for one in segments if one not in seen], others
PYTHON
}

look 1.1.3 whole
look 2.0.1 part
