#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pandas 2.3.3 and 3.1.1 read receipts, one JSON object a line, with `read_json(..., lines=True)`. What is a text in
# JSON, in quotes, becomes a number if all of a column could be one:
#
# - The ids "00042" and "00043" are 42 and 43. With a third receipt, of the id "a-7", all three stay texts.
# - The ids "1234E567" and "0" are infinity and zero.
# - With `chunksize=2` the same id is 42 in one chunk, and would be "00042" in another: it depends on its neighbours.
# - A number of seconds under the name "expires_at" becomes a time, and one under the name "expires" stays: it is the
#   ending "_at" that does it.
#
# polars 2.1.0, pyarrow 26.0.1 and DuckDB 2.0.1 have the texts as they stand, as pandas has with `dtype=False`.
#
# Guessed before it was run: types are guessed of CSV; JSON says which value is a text, and it stays one.
#
# Whoever joins such receipts with a table of users finds no match for ids with zeros in front, or those of others.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: polars==2.1.0 pyarrow==26.0.1 \
  duckdb==2.0.1

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "pandas==$1"
  "$folder/python/bin/python" - "$folder/receipts.jsonl" <<'PYTHON'
import json
import math
import sys

import duckdb
import pandas
import polars
import pyarrow.json


def write(receipts):
    with open(sys.argv[1], "w") as file:
        file.writelines(json.dumps(receipt) + "\n" for receipt in receipts)


def ids(frame):
    return frame["id"].tolist()


def look(name, seen, expected):
    print(f"  {name}: {seen}")
    assert seen == expected and list(map(type, seen)) == list(map(type, expected)), (seen, expected)


print("pandas", pandas.__version__)
digits, other = [{"id": "00042"}, {"id": "00043"}], [{"id": "a-7"}]
write(digits)
look("two ids", ids(pandas.read_json(sys.argv[1], lines=True)), [42, 43])
look("two ids, dtype=False", ids(pandas.read_json(sys.argv[1], lines=True, dtype=False)), ["00042", "00043"])
look("polars", polars.read_ndjson(sys.argv[1])["id"].to_list(), ["00042", "00043"])
look("pyarrow", pyarrow.json.read_json(sys.argv[1])["id"].to_pylist(), ["00042", "00043"])
rows = duckdb.sql(f"SELECT id FROM read_json('{sys.argv[1]}')").fetchall()
look("DuckDB", [row[0] for row in rows], ["00042", "00043"])
write(digits + other)
look("with a third", ids(pandas.read_json(sys.argv[1], lines=True)), ["00042", "00043", "a-7"])
write(digits + digits[:1] + other)
chunks = pandas.read_json(sys.argv[1], lines=True, chunksize=2)
look("in chunks", [value for chunk in chunks for value in ids(chunk)], [42, 43, "00042", "a-7"])
write([{"id": "1234E567"}, {"id": "0"}])
look("with an E", ids(pandas.read_json(sys.argv[1], lines=True)), [math.inf, 0.0])
write([{"expires_at": 1795000000, "expires": 1795000000}])
frame = pandas.read_json(sys.argv[1], lines=True)
seen = frame["expires_at"].iloc[0], frame["expires"].iloc[0]
print(f"  expires_at {seen[0]}, expires {seen[1]}")
assert str(seen[0]) == "2026-11-18 11:06:40" and seen[1] == 1795000000, seen
PYTHON
}

look 2.3.3
look 3.1.1
