#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# SQLite 3.39.4 and 3.40.1 (the latter is that of Debian 12): `DELETE … RETURNING column IS NOT NULL` says 1 for a column
# that is null, if the table is WITHOUT ROWID. The same expression in a SELECT, and in a table with rowids, is right. So is
# SQLite 3.46.1 in all.
#
# Guessed before it was run: RETURNING evaluates an expression as a SELECT of the deleted row would, in any kind of table.
# Whoever counts what a DELETE has removed by kind counts wrongly there, without an error.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "apsw==$1"
  "$folder/python/bin/python" - "$2" <<'PYTHON'
import sys

import apsw

run = apsw.Connection(":memory:").execute
columns = "k, x IS NOT NULL, y IS NOT NULL"
seen = {}
for kind in ("", "WITHOUT ROWID"):
    run(f"CREATE TABLE t (k TEXT PRIMARY KEY, x INTEGER, y INTEGER) {kind}")
    run("INSERT INTO t VALUES ('a', 5, NULL), ('b', NULL, 7)")
    right = run(f"SELECT {columns} FROM t ORDER BY k").fetchall()
    assert right == [("a", 1, 0), ("b", 0, 1)], right
    seen[kind] = run(f"DELETE FROM t RETURNING {columns}").fetchall()
    run("DROP TABLE t")
print(f"SQLite {apsw.sqlitelibversion()}: with rowids {seen['']}, without {seen['WITHOUT ROWID']}")
wrong = [("a", 1, 1), ("b", 1, 1)]
assert seen[""] == right, seen
assert seen["WITHOUT ROWID"] == (wrong if sys.argv[1] == "wrong" else right), seen
PYTHON
}

look 3.39.4.0 wrong
look 3.40.1.0 wrong
look 3.46.1.0 right
