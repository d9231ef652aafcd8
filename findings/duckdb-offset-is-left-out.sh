#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is due at "2026-11-29T12:00:00+05:30", a text, which is 06:30 in UTC. As a TIMESTAMP, which has no zone, it is
#
# - 06:30 in DuckDB 1.3.2, by `::TIMESTAMP` and in a CSV or JSON whose column was given that type;
# - 12:00 in DuckDB 1.4.4 and 2.0.1, by each of the three. What is behind the seconds is left out.
#
# With Z at its end it is 12:00 in all, and as a TIMESTAMPTZ it is 06:30 in UTC in all. That is so whatever the zone of
# the session is.
#
# What one would guess: a cast means what it meant, or a text with an offset is refused.
#
# Whoever keeps what is due as a TIMESTAMP in UTC, as was right with the offset, sends to India five and a half hours
# late after an upgrade, and to New York five hours early; where all times had a Z, tests find nothing.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

look() { # a version, and what it has for 12:00 at +05:30
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/$1/bin/python" - "$folder" "$2" <<'PYTHON'
import datetime
import json
import sys

import duckdb

folder, expected = sys.argv[1:]
INDIA, UTC = "2026-11-29T12:00:00+05:30", "2026-11-29T12:00:00Z"
with open(f"{folder}/pushes.csv", "w") as file:
    file.write(f"token,send_at\n0a,{INDIA}\n")
with open(f"{folder}/pushes.json", "w") as file:
    json.dump({"token": "0a", "send_at": INDIA}, file)
columns = "columns = {'token': 'VARCHAR', 'send_at': 'TIMESTAMP'}"
for zone in ("UTC", "America/New_York"):
    database = duckdb.connect()
    database.execute(f"SET TimeZone = '{zone}'")

    def one(query):
        return database.execute(query).fetchone()[0]

    def clock(query):
        return one(query).strftime("%H:%M")

    seen = [
        clock(f"SELECT '{INDIA}'::TIMESTAMP"),
        clock(f"SELECT send_at FROM read_csv('{folder}/pushes.csv', {columns})"),
        clock(f"SELECT send_at FROM read_json('{folder}/pushes.json', {columns})"),
    ]
    print(f"DuckDB {duckdb.__version__}, {zone}: {seen}")
    assert seen == [expected] * 3, seen
    assert clock(f"SELECT '{UTC}'::TIMESTAMP") == "12:00"
    moment = datetime.datetime.fromisoformat(INDIA).timestamp()
    assert one(f"SELECT epoch('{INDIA}'::TIMESTAMPTZ)") == moment
PYTHON
}

look 1.3.2 06:30
look 1.4.4 12:00
look 2.0.1 12:00
