#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A tenth of 10,000 users gets no pushes, so that one can compare: `WHERE hash(user) % 10 = 0`. How many of the tenth of
# one version are in that of the next:
#
# - DuckDB 1.1.3 and 2.0.1, `hash` of a text: 103, as if it were drawn anew. Of a number it is the same tenth.
# - The same, `md5_number(user) % 10 = 0`: 515, about half, though the MD5 is the same: it was a signed number, and is
#   an unsigned one now.
# - polars 1.31.0 and 2.1.0, `hash(1)` of a text: 93.
#
# Within a version each is the same in each process, and each time.
#
# Guessed before it was run: `hash` may be another, and a number that is named after MD5 stays.
#
# Whoever raises the version in the middle of a campaign sends to nine in ten of those who were not to have any, and has
# no others left to compare with.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

look() {
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$2" "polars==$3"
  for _ in 1 2; do
    "$folder/$1/bin/python" - <<'PYTHON'
import json

import duckdb
import polars

run = duckdb.connect().execute
ways = ("hash('user-' || n)", "hash(n)", "md5_number('user-' || n)")
query = "SELECT n FROM range(10000) AS t(n) WHERE {} % 10 = 0"
tenths = [[row[0] for row in run(query.format(way)).fetchall()] for way in ways]
users = polars.DataFrame({"n": range(10_000)}).with_columns(user=polars.format("user-{}", "n"))
tenths.append(users.filter(polars.col("user").hash(1) % 10 == 0)["n"].to_list())
print(json.dumps([*tenths, run("SELECT md5('user-1')").fetchone()]))
PYTHON
  done > "$folder/$1.json"
}

look old 1.1.3 1.31.0
look new 2.0.1 2.1.0
python3 - "$folder" <<'PYTHON'
import json
import sys

old, new = ([json.loads(line) for line in open(f"{sys.argv[1]}/{name}.json")] for name in ("old", "new"))
assert old[0] == old[1] and new[0] == new[1], "it is another in another process"
*before, of_old = old[0]
*after, of_new = new[0]
assert of_old == of_new, (of_old, of_new)
assert all(900 < len(tenth) < 1100 for tenth in before + after)
seen = [len(set(first) & set(second)) for first, second in zip(before, after, strict=True)]
print(f"of about 1000, in both versions: hash of a text {seen[0]}, of a number {seen[1]}, md5_number {seen[2]}; "
      f"polars {seen[3]}")
assert seen == [103, len(before[1]), 515, 93] and len(after[1]) == len(before[1]), seen
PYTHON
