#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `sqlite-utils insert pushes.db devices devices.csv --csv`, which loads a CSV of devices into SQLite, and
# `sqlite-utils rows`, which writes them in JSON. What it makes of two devices with the tokens 123e4567 and 456e7890, of
# the users 00042 and 00043:
#
# - sqlite-utils 3.39: the texts as they are.
# - sqlite-utils 4.2.1: the token of either is infinity, and the users are 42 and 43. In JSON it writes Infinity, which
#   is none: jq 1.6 reads the largest number that it has, and Node.js 20.20.2 refuses it. With a third device of the
#   token 45ab7890 all tokens are texts, and with `--no-detect-types` all is as before.
#
# Version 4 looks at the values, and makes a column of numbers if all could be one.
#
# Guessed before it was run: the same command makes the same table, and what is changed is a column of plain digits at
# the most.
#
# Whoever loads the day's devices so has two devices with one token on the day on which there are few, and sends to
# neither; who joins them by user with a table of before finds nobody.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "$(jq --version)" = jq-1.6 ]
[ "$(node --version)" = v20.20.2 ]
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "sqlite-utils==$1"
  "$folder/python/bin/python" - "$1" "$folder" <<'PYTHON'
import json
import subprocess
import sys

version, folder = sys.argv[1:]
tool = f"{folder}/python/bin/sqlite-utils"


def load(name, table, *options):
    database = f"{folder}/{name}-{version}.db"
    command = [tool, "insert", database, "devices", "-", "--csv", *options]
    subprocess.run(command, input=table, text=True, check=True, timeout=60)
    rows = subprocess.run([tool, "rows", database, "devices"], capture_output=True, text=True, check=True, timeout=60)
    return rows.stdout, [tuple(row.values()) for row in json.loads(rows.stdout)]


texts = [("123e4567", "00042"), ("456e7890", "00043")]
table = "token,user\n" + "".join(f"{token},{user}\n" for token, user in texts)
written, seen = load("two", table)
print(f"sqlite-utils {version}: {seen}")
if version == "3.39":
    assert seen == texts, seen
else:
    infinity = float("inf")
    assert seen == [(infinity, 42), (infinity, 43)] and "Infinity" in written, written
    read = subprocess.run(["jq", ".[0].token"], input=written, capture_output=True, text=True, timeout=60)
    assert read.stdout == "1.7976931348623157e+308\n", read
    line = "JSON.parse(require('fs').readFileSync(0, 'utf8'))"
    read = subprocess.run(["node", "-e", line], input=written, capture_output=True, text=True, timeout=60)
    assert "SyntaxError" in read.stderr, read
    seen = load("three", table + "45ab7890,00044\n")[1]
    assert seen == [("123e4567", 42), ("456e7890", 43), ("45ab7890", 44)], seen
    assert load("no types", table, "--no-detect-types")[1] == texts
PYTHON
}

look 3.39
look 4.2.1
