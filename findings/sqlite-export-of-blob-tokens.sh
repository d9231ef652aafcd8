#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The shell of SQLite 3.40.1 (that of Debian 12) exports a column of BLOBs, here 2,000 device tokens of 32 bytes:
#
# - `-csv` cuts each at its first zero byte, which one in eight or nine has, and says nothing.
# - `-json` keeps them whole, byte for byte between quotes. What comes out is no JSON: a parser that takes UTF-8 only
#   refuses the whole, and one that replaces what is wrong makes another token of each.
# - `-quote` and `.dump` have each as hexadecimal digits.
#
# What one would guess: a BLOB is exported as hexadecimal digits or base64, or the export fails.
#
# Whoever moves tokens with a CSV of such a table has a ninth of them wrong, of 0 to 31 bytes, without an error.
#
# Fails if it exports otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sqlite3 --version | grep -q '^3\.40\.1 '
python3 - "$folder" <<'PYTHON'
import csv
import hashlib
import io
import json
import re
import sqlite3
import subprocess
import sys

path = f"{sys.argv[1]}/tokens.db"
tokens = [hashlib.sha256(str(device).encode()).digest() for device in range(2000)]
database = sqlite3.connect(path)
database.execute("CREATE TABLE devices (id INTEGER PRIMARY KEY, token BLOB NOT NULL) STRICT")
database.executemany("INSERT INTO devices VALUES (?, ?)", enumerate(tokens))
database.commit()
database.close()


def export(*options):
    result = subprocess.run(["sqlite3", "-batch", *options], capture_output=True, check=True)
    assert result.stderr == b"", result.stderr
    return result.stdout


with_zero = sum(0 in token for token in tokens)
print(f"sqlite3 3.40.1, {len(tokens)} tokens, {with_zero} with a zero byte")
# Of a CSV each byte is read as one character, so none is lost in reading.
rows = csv.reader(io.StringIO(export("-csv", path, "SELECT id, token FROM devices").decode("latin-1"), newline=""))
fields = {int(device): token.encode("latin-1") for device, token in rows}
whole = sum(fields[device] == token for device, token in enumerate(tokens))
cut = [fields[device] for device, token in enumerate(tokens) if 0 in token]
lengths = sorted(map(len, cut))
print(f"  -csv: {len(fields)} rows, {whole} tokens whole, {len(cut)} of {lengths[0]} to {lengths[-1]} bytes")
assert whole == len(tokens) - with_zero and len(fields) == len(tokens), whole
assert cut == [token.split(b"\0")[0] for token in tokens if 0 in token]

text = export("-json", path, "SELECT token FROM devices ORDER BY id")
try:
    json.loads(text)
    said = "valid"
except UnicodeDecodeError as error:
    said = type(error).__name__
replaced = [row["token"] for row in json.loads(text.decode(errors="replace"))]
same = sum(had.encode() == token for had, token in zip(replaced, tokens))
print(f"  -json: {said}; with what is wrong replaced, {same} of {len(replaced)} are as they were")
assert said == "UnicodeDecodeError" and same == 0 and len(replaced) == len(tokens), same

digits = re.findall(rb"X'([0-9a-f]+)'", export("-quote", path, "SELECT token FROM devices ORDER BY id"))
dumped = re.findall(rb"X'([0-9a-f]+)'", export(path, ".dump devices"))
print(f"  -quote: {len(digits)} as hexadecimal digits; .dump: {len(dumped)}")
assert digits == dumped == [token.hex().encode() for token in tokens]
PYTHON
