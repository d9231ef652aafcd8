#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Lists of 1,000 devices in CSV, without a header, read with DuckDB 1.1.3 and 2.0.1, which look at a file to find out
# whether it has one: `FROM read_csv('devices.csv')`.
#
# - Of a list of tokens, one a line, and of a list of tokens and platforms, it has 999 devices. The first is the name of
#   the column.
# - Of a token, a status and a time it has 1,000. Of a token, a status, and a reason it has 1,000 too, but 999 if the
#   first device is the only one with a reason: then the second column's name is "410".
#
# There is no error and no warning. With `header = false` it has 1,000 of each.
#
# What one would guess: a first line that looks like all the others, with a token of the same length in it, is one of
# them; at least a name that is a number is none.
#
# The user with the first device gets no pushes, or the dead one is never cleared away, by what is in the day's list.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/python/bin/python" - "$folder" <<'PYTHON'
import hashlib
import sys

import duckdb

path = f"{sys.argv[1]}/devices.csv"
tokens = [hashlib.sha256(str(device).encode()).hexdigest() for device in range(1000)]


def read(options=""):
    table = duckdb.sql(f"FROM read_csv('{path}'{options})")
    return table.columns, len(table.fetchall())


print("DuckDB", duckdb.__version__)
for name, row, expected in (
    ("tokens", lambda device, token: (token,), 999),
    ("tokens and platforms", lambda device, token: (token, "ios" if device % 2 else "macos"), 999),
    ("with times", lambda device, token: (token, "410", "2026-11-29 12:00:00"), 1000),
    ("with reasons", lambda device, token: (token, "410", "Unregistered"), 1000),
    ("the first with a reason", lambda device, token: (token, "410", "" if device else "Unregistered"), 999),
    ("the second with a reason", lambda device, token: (token, "410", "Unregistered" if device == 1 else ""), 1000),
):
    with open(path, "w") as file:
        file.writelines(",".join(row(device, token)) + "\n" for device, token in enumerate(tokens))
    columns, rows = read()
    print(f"  {name}: {rows} devices, columns", *(column[:12] for column in columns))
    assert rows == expected and (columns[0] == tokens[0]) == (expected == 999), (columns, rows)
    assert read(", header = false")[1] == 1000
PYTHON
}

look 1.1.3
look 2.0.1
