#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A list of 50 tokens of FCM, one a line, in a file that is called CSV. Such a token has 163 letters, digits, hyphens
# and underscores, and one colon in it, behind the 22nd. What finds out for itself how a CSV is divided has
#
# - with csv.Sniffer of Python 3.11, clevercsv 0.8.5, pandas 3.1.1 (`sep=None`) and `sqlite-utils memory` 4.2.1: two
#   columns, divided at the colon. With a title "token" above the list csv.Sniffer and clevercsv have two as well, and
#   of each row but the title two fields.
# - with DuckDB 2.0.1: one column.
#
# Of 50 tokens of APNs, which are hexadecimal digits, clevercsv and DuckDB have one column, csv.Sniffer an error, and
# pandas with the title "token": the columns "" and "oken", as it looks at the first line alone and takes the t for what
# divides it.
#
# Guessed before it was run: a colon is rarer than a list of one column.
#
# Whoever loads such a list has 22 characters of each token, which no service knows, and removes each as dead.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: clevercsv==0.8.5 pandas==3.1.1 \
  sqlite-utils==4.2.1 duckdb==2.0.1
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import csv
import io
import json
import random
import subprocess
import sys

import clevercsv
import duckdb
import pandas

folder = sys.argv[1]
chance = random.Random(1)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def text(number, letters=LETTERS):
    return "".join(chance.choice(letters) for _ in range(number))


def with_sniffer(table):
    try:
        return csv.Sniffer().sniff(table).delimiter
    except csv.Error:
        return None


def with_clevercsv(table):
    return [len(row) for row in clevercsv.read_table(written(table))]


def with_pandas(table):
    return list(pandas.read_csv(io.StringIO(table), sep=None, engine="python").columns)


def with_sqlite_utils(table):
    command = [f"{folder}/python/bin/sqlite-utils", "memory", written(table), "SELECT * FROM t LIMIT 1"]
    return len(json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)[0])


def with_duckdb(table):
    return len(duckdb.connect().execute(f"FROM '{written(table)}'").description)


def written(table):
    with open(f"{folder}/t.csv", "w") as file:
        file.write(table)
    return file.name


fcm = [f"{text(22)}:APA91b{text(134)}" for _ in range(50)]
apns = [text(64, "0123456789abcdef") for _ in range(50)]
bare, titled = "\n".join(fcm) + "\n", "\n".join(["token", *fcm]) + "\n"
seen = {
    "csv.Sniffer": (with_sniffer(bare), with_sniffer(titled)),
    "clevercsv": (set(with_clevercsv(bare)), with_clevercsv(titled)[:3]),
    "pandas": len(with_pandas(bare)),
    "sqlite-utils": with_sqlite_utils(bare),
    "DuckDB": (with_duckdb(bare), with_duckdb(titled)),
}
print("FCM:", seen)
assert seen == {
    "csv.Sniffer": (":", ":"),
    "clevercsv": ({2}, [1, 2, 2]),
    "pandas": 2,
    "sqlite-utils": 2,
    "DuckDB": (1, 1),
}, seen
titled = "\n".join(["token", *apns]) + "\n"
seen = with_sniffer(titled), set(with_clevercsv(titled)), with_pandas(titled), with_duckdb(titled)
print("APNs:", seen)
assert seen == (None, {1}, ["Unnamed: 0", "oken"], 1), seen
PYTHON
