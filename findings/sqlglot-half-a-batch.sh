#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A query of SQLite counts batches, `SELECT (count(*) + 999) / 1000 FROM devices`, and is to run with DuckDB. sqlglot
# 30.30.0 translates it, `transpile(…, read="sqlite", write="duckdb")`, without an error or a warning. Of 2,500 devices
# SQLite has 3 batches, and DuckDB 2.0.1, with what sqlglot wrote, 3.499. What else is another number then:
#
# - `CAST(sent / 1000 AS INTEGER)`, of 2,700 ms in a column of integers: 2, and 3.
# - `token LIKE 'AB%'`, of a token ab12: 1 device, and none.
# - `sent / 0`: no value in both; for that sqlglot has written `NULLIF(0, 0)`.
#
# It knows that a division by zero is another in the two, and that DuckDB has `//` for whole numbers, which it writes as
# a division and a cast for SQLite. But it looks at types only if it is told to: after `annotate_types` of its optimizer
# the first is 3. From PostgreSQL, tsql and Presto to DuckDB it is so too: 2500 / 1000 is 2.5.
#
# What one would guess: what is translated gives the same numbers, or sqlglot says that it cannot do it.
#
# Whoever moves reports so has fractions of batches in them, and one user less.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: sqlglot==30.30.0 duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import sqlite3

import duckdb
import sqlglot
import sqlglot.optimizer.annotate_types

databases = sqlite3.connect(":memory:"), duckdb.connect()
for database in databases:
    database.execute("CREATE TABLE devices (token VARCHAR(64), sent INTEGER)")
    database.executemany("INSERT INTO devices VALUES (?, ?)", [("ab12", 2700), *[("0", 1)] * 99])
    for _ in range(24):
        database.execute("INSERT INTO devices SELECT '0', 1 FROM (SELECT * FROM devices LIMIT 100) AS hundred")
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("sqlglot", "duckdb")), sqlite3.sqlite_version)
for query, expected in {
    "SELECT (COUNT(*) + 999) / 1000 FROM devices": (3, 3.499),
    "SELECT CAST(sent / 1000 AS INTEGER) FROM devices WHERE token = 'ab12'": (2, 3),
    "SELECT COUNT(*) FROM devices WHERE token LIKE 'AB%'": (1, 0),
    "SELECT sent / 0 FROM devices WHERE token = 'ab12'": (None, None),
}.items():
    translated = sqlglot.transpile(query, read="sqlite", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)[0]
    seen = databases[0].execute(query).fetchone()[0], databases[1].execute(translated).fetchone()[0]
    print(f"  {query}: {seen[0]}\n  {translated}: {seen[1]}")
    assert seen == expected, seen
count = sqlglot.parse_one("SELECT (COUNT(*) + 999) / 1000 FROM devices", read="sqlite")
annotated = sqlglot.optimizer.annotate_types.annotate_types(count, dialect="sqlite").sql("duckdb")
print(f"  with types: {annotated}")
assert databases[1].execute(annotated).fetchone() == (3,)
for dialect in ("postgres", "tsql", "presto"):
    translated = sqlglot.transpile("SELECT 2500 / 1000", read=dialect, write="duckdb")[0]
    assert databases[1].execute(translated).fetchone() == (2.5,), translated
back = sqlglot.transpile("SELECT 2500 // 1000", read="duckdb", write="sqlite")[0]
print(f"  and back, of 2500 // 1000: {back}")
assert databases[0].execute(back).fetchone() == (2,)
PYTHON
