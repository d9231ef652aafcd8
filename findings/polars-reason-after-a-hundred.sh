#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A log of pushes, one JSON object a line: 150 answers of 200, then one of 410, which alone has a `reason`. polars 2.1.0
# reads it with `read_ndjson`, `scan_ndjson` and, of Python's dictionaries, `DataFrame` into a table without a column
# `reason`. So it is with a key of an object within: `device.os` is not there. There is no error and no warning.
#
# - `read_json` of the same objects in an array, and `json_decode` of the same lines, fail with "extra field".
# - If `reason` is null in the first 150, `read_ndjson` fails too.
# - DuckDB 2.0.1, `read_json`, has the reason.
#
# The columns are those of the first hundred lines (`infer_schema_length`).
#
# Guessed before it was run: the column is there, with nulls, or it is an error.
#
# Whoever counts why pushes were refused finds no reason at all, if the first that was refused is late in the file.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: polars==2.1.0 duckdb==2.0.1
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import json
import sys

import duckdb
import polars

path = f"{sys.argv[1]}/log.ndjson"
accepted = [{"token": f"{number:08x}", "status": 200, "device": {"badge": 1}} for number in range(150)]
refused = {"token": "0a1b2c3d", "status": 410, "device": {"badge": 1, "os": "26.1"}, "reason": "Unregistered"}
with_nulls = [{**push, "device": refused["device"], "reason": None} for push in accepted]


def last(table):
    return table.tail(1).to_dicts()[0]


def read(pushes):
    with open(path, "w") as file:
        file.writelines(json.dumps(push) + "\n" for push in pushes)
    return last(polars.read_ndjson(path))


def error(function):
    try:
        return f"no error: {function()}"
    except polars.exceptions.ComputeError as failure:
        return str(failure)


pushes = [*accepted, refused]
lines = [json.dumps(push) for push in pushes]
cut = {"token": "0a1b2c3d", "status": 410, "device": {"badge": 1}}
print("polars", polars.__version__, "duckdb", duckdb.__version__)
for name, seen in (
    ("read_ndjson", read(pushes)),
    ("scan_ndjson", last(polars.scan_ndjson(path).collect())),
    ("DataFrame", last(polars.DataFrame(pushes))),
):
    print(f"  the last line, {name}: {seen}")
    assert seen == cut, seen
whole = last(polars.read_ndjson(path, infer_schema_length=None))
print("  read_ndjson, all lines looked at:", whole)
assert whole == refused, whole
(reason,) = duckdb.execute("SELECT reason FROM read_json(?) WHERE status = 410", [path]).fetchone()
print("  DuckDB:", reason)
assert reason == "Unregistered"
for name, failure, words in (
    ("read_json", error(lambda: polars.read_json(f"[{','.join(lines)}]".encode())), "extra field"),
    ("json_decode", error(lambda: polars.Series(lines).str.json_decode()), "extra field"),
    ("read_ndjson, with nulls", error(lambda: read([*with_nulls, refused])), "non-null value"),
):
    print(f"  {name}: {failure}")
    assert words in failure, failure
PYTHON
