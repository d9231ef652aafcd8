#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tokens of devices are in one table, and codes of a campaign in another, whose column is `code TEXT COLLATE NOCASE`, so
# that a person may write a code in any case. All of them, `SELECT token FROM devices UNION SELECT code FROM codes`, of
# one device and the codes aB1, Ab1 and c2:
#
# - SQLite 3.54.1: four. The column on the left says how texts are compared, and tokens are compared as they are.
# - pyturso 0.8.3, the rewrite of SQLite in Rust, which reads and writes its files: three. aB1 is left out, with no
#   error.
#
# With the two the other way round both have three, and with UNION ALL both have four.
#
# Guessed before it was run: the same rows, as the same SQL is read by both.
#
# Whoever moves to it loses those whose code differs from another's in case alone, by a query that was right.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyturso==0.8.3 apsw==3.54.1.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import apsw
import turso

SETUP = (
    "CREATE TABLE devices (token TEXT)",
    "CREATE TABLE codes (code TEXT COLLATE NOCASE)",
    "INSERT INTO devices VALUES ('0a')",
    "INSERT INTO codes VALUES ('aB1'), ('Ab1'), ('c2')",
)
TOKENS, CODES = "SELECT token FROM devices", "SELECT code FROM codes"


def rows(cursor, query):
    cursor.execute(query)
    return sorted(text for (text,) in cursor.fetchall())


cursors = {"SQLite": apsw.Connection(":memory:").cursor(), "Turso": turso.connect(":memory:").cursor()}
print(f"SQLite {apsw.sqlite_lib_version()}, pyturso {importlib.metadata.version('pyturso')}:")
for name, cursor in cursors.items():
    for statement in SETUP:
        cursor.execute(statement)
    seen = rows(cursor, f"{TOKENS} UNION {CODES}")
    print(f"  {name}: {seen}")
    assert seen == (["0a", "Ab1", "aB1", "c2"] if name == "SQLite" else ["0a", "Ab1", "c2"]), seen
    assert len(rows(cursor, f"{CODES} UNION {TOKENS}")) == 3
    assert len(rows(cursor, f"{TOKENS} UNION ALL {CODES}")) == 4
PYTHON
