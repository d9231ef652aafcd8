#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes are counted by week, `date_trunc('week', day)`, of a day that is a DATE. What the week of 29 November 2026 is:
#
# - DuckDB 1.4.4: a DATE. As a text and in JSON it is 2026-11-23; a folder of `COPY … (PARTITION_BY week)` is
#   week=2026-11-23.
# - DuckDB 2.0.1: a TIMESTAMP. The text is "2026-11-23 00:00:00", and the folder has that behind `week=`, with its
#   space and colons escaped. Python has a datetime and not a date.
#
# So it is with 'month', 'quarter' and 'year'. `time_bucket` and `last_day` have a DATE in both.
#
# What one would guess: the type of what one knows well stays, and a day's week begins on a day.
#
# Whoever makes a text with the week in it, as an id by which a digest is sent once a week to each user, sends that
# week's again after an upgrade; what reads the folder of a week finds none.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

look() {
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/$1/bin/python" - "$folder/of-$1" "$2" "$3" <<'PYTHON'
import os
import sys
import urllib.parse

import duckdb

folder, expected, python = sys.argv[1:]
database = duckdb.connect()
database.execute("CREATE TABLE pushes AS SELECT DATE '2026-11-29' AS day, 'news' AS topic")


def one(expression):
    return database.execute(f"SELECT {expression} FROM pushes").fetchone()[0]


database.execute(f"COPY (SELECT *, date_trunc('week', day) AS week FROM pushes) TO '{folder}' (PARTITION_BY week)")
week = one("date_trunc('week', day)")
seen = one("'digest ' || date_trunc('week', day)"), one("to_json(date_trunc('week', day))")
print(f"DuckDB {duckdb.__version__}: {week!r}, {seen}, {os.listdir(folder)}")
assert seen == (f"digest {expected}", f'"{expected}"'), seen
assert type(week).__name__ == python and os.listdir(folder) == ["week=" + urllib.parse.quote(expected)]
for part in ("month", "quarter", "year"):
    assert type(one(f"date_trunc('{part}', day)")).__name__ == python
assert str(one("time_bucket(INTERVAL 7 DAYS, day)")) == "2026-11-23" and str(one("last_day(day)")) == "2026-11-30"
PYTHON
}

look 1.4.4 2026-11-23 date
look 2.0.1 "2026-11-23 00:00:00" datetime
