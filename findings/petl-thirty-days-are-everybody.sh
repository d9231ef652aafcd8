#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Of three devices of a CSV, not seen for 9, 100 and 29 days, petl 1.7.30 picks by the column `days`, and none of it is
# an error:
#
# - `fromcsv(...).selectgt("days", 30)`, more than 30: all three. `selectlt("days", 30)`, less than 30: none.
# - After `convertnumbers()`: the second, and the other two. A device whose days are not known, an empty field, is one
#   of more than 30 days then, and if the empty text is made None, one of less.
#
# All of a CSV is text, and any text is more than any number: petl has an order of all that there is, in which None is
# the least, then numbers, then texts. Python's own `"9" > 30` is an error; DuckDB 2.0.1 and pandas 3.1.1 take the
# column for numbers.
#
# Guessed before it was run: numbers are compared, or it is Python's error.
#
# Whoever deletes the devices that were not seen for more than 30 days deletes all of them.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: petl==1.7.30 duckdb==2.0.1 \
  pandas==3.1.1
cd "$folder"
python/bin/python - <<'PYTHON'
import importlib.metadata

import duckdb
import pandas
import petl


def tokens(table):
    return list(petl.values(table, "token"))


with open("devices.csv", "w") as file:
    file.write("token,days\n0a,9\n1b,100\n2c,29\n")
devices = petl.fromcsv("devices.csv")
seen = tokens(devices.selectgt("days", 30)), tokens(devices.selectlt("days", 30))
print(f"petl {importlib.metadata.version('petl')}: more than 30 days {seen[0]}, less {seen[1]}")
assert seen == (["0a", "1b", "2c"], []), seen
numbers = devices.convertnumbers()
assert (tokens(numbers.selectgt("days", 30)), tokens(numbers.selectlt("days", 30))) == (["1b"], ["0a", "2c"])

with open("unknown.csv", "w") as file:
    file.write("token,days\n0a,9\n1b,100\n2c,\n")
unknown = petl.fromcsv("unknown.csv").convertnumbers()
nothing = unknown.replace("days", "", None)
seen = [tokens(table.selectgt("days", 30)) for table in (unknown, nothing)]
seen += [tokens(table.selectlt("days", 30)) for table in (unknown, nothing)]
print(f"  with one that is not known: {seen}")
assert seen == [["1b", "2c"], ["1b"], ["0a"], ["0a", "2c"]], seen

frame = pandas.read_csv("devices.csv", dtype={"token": str})
assert frame[frame.days > 30].token.to_list() == ["1b"]
assert duckdb.sql("SELECT token FROM 'devices.csv' WHERE days > 30").fetchall() == [("1b",)]
PYTHON
