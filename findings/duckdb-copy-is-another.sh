#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests for pushes, one JSON object a line, of which some are picked out with SQL and written to a file in the same
# form: `COPY (FROM read_json('all.jsonl') WHERE ...) TO 'some.jsonl' (FORMAT json)`. What DuckDB 1.1.3 and 2.0.1 change
# in those that they write:
#
# - "loc-args": ["22:30"], a text that an alert shows, is ["22:30:00"].
# - "send_at": "2026-11-29T12:00:00+05:30" is as it was with 1.1.3. With 2.0.1 it is "2026-11-29 06:30:00+00", with UTC
#   for the session's time zone, which is no time of RFC 3339: it has a blank for T, and an offset without minutes.
#
# If another row has a text there that is no time, as "soon", all stay as they are; so they do with `columns = {...}` of
# texts. polars 2.1.0 writes the lines as they were.
#
# What one would guess: JSON says what is a text, and a text is written as it was read.
#
# Whoever picks out so who gets a push sends "Your train leaves at 22:30:00", and has each request refused after an
# upgrade.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: polars==2.1.0

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/python/bin/python" - "$folder" "$2" <<'PYTHON'
import json
import sys

import duckdb
import polars

folder, send_at = sys.argv[1:]
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")


def write(requests):
    with open(f"{folder}/all.jsonl", "w") as file:
        file.writelines(json.dumps(request) + "\n" for request in requests)


def written():
    with open(f"{folder}/some.jsonl") as file:
        return [json.loads(line) for line in file]


def copied(requests, settings=""):
    """What DuckDB writes of those requests whose id is not "other"."""
    write(requests)
    source = f"FROM read_json('{folder}/all.jsonl'{settings}) WHERE id <> 'other'"
    connection.execute(f"COPY ({source}) TO '{folder}/some.jsonl' (FORMAT json)")
    return written()


def request(time, text):
    return {"id": "r", "send_at": time, "payload": {"aps": {"alert": {"loc-args": [text]}}}}


given = request("2026-11-29T12:00:00+05:30", "22:30")
soon, other = request("soon", "soon"), {"id": "other"}
print("DuckDB", duckdb.__version__)
for name, requests, expected in (
    ("alone", [given], [request(send_at, "22:30:00")]),
    ("with another row", [given, soon], [given, soon]),
):
    seen = copied([*requests, other])
    print(f"  {name}: {json.dumps(given)} is written {json.dumps(seen[0])}")
    assert seen == expected, (seen, expected)

columns = ", columns = {id: 'VARCHAR', send_at: 'VARCHAR', payload: 'JSON'}"
assert copied([given, other], columns) == [given]
write([given])
polars.read_ndjson(f"{folder}/all.jsonl").write_ndjson(f"{folder}/some.jsonl")
assert written() == [given], written()
PYTHON
}

look 1.1.3 "2026-11-29T12:00:00+05:30"
look 2.0.1 "2026-11-29 06:30:00+00"
