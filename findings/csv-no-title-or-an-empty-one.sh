#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A table of pushes has a title that is empty and one that is not there (null). polars 2.1.0, DuckDB 2.0.1 and pyarrow
# 26.0.1 each write the first to CSV as "" and the second as nothing between two commas, so that the two are apart, as
# PostgreSQL's COPY has them. Of its own file each reads
#
# - polars: an empty title and none, as they were;
# - DuckDB: no title, twice;
# - pyarrow: an empty title, twice.
#
# So it is with the files of the others, which are alike. A title of "NA" stays one for all three.
#
# What one would guess: whoever takes care to write two forms reads them as two.
#
# An empty title says that somebody wants none, and null that nobody has said anything. After a way through a CSV either
# has become the other.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyarrow==26.0.1 polars==2.1.0 \
  duckdb==2.0.1
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import sys

import duckdb
import polars
import pyarrow.csv

folder = sys.argv[1]
titles = ["", None, "NA", "Gate 7"]
table = polars.DataFrame({"id": [1, 2, 3, 4], "title": titles})


def with_duckdb(path):
    arrow = table.to_arrow()  # DuckDB finds it by its name
    duckdb.sql(f"COPY arrow TO '{path}' (FORMAT csv, HEADER)")


writers = {
    "polars": table.write_csv,
    "duckdb": with_duckdb,
    "pyarrow": lambda path: pyarrow.csv.write_csv(table.to_arrow(), path),
}
readers = {
    "polars": (lambda path: polars.read_csv(path)["title"].to_list(), titles),
    "duckdb": (
        lambda path: [row[0] for row in duckdb.sql(f"SELECT title FROM read_csv('{path}') ORDER BY id").fetchall()],
        [None, None, "NA", "Gate 7"],
    ),
    "pyarrow": (lambda path: pyarrow.csv.read_csv(path)["title"].to_pylist(), ["", "", "NA", "Gate 7"]),
}
for writer, write in writers.items():
    path = f"{folder}/{writer}.csv"
    write(path)
    with open(path) as file:
        lines = file.read().splitlines()
    print(f"{writer} writes {lines[1]} and {lines[2]}", end=": ")
    assert lines[1:3] == ["1,\"\"", "2,"], lines
    for reader, (read, expected) in readers.items():
        seen = read(path)
        print(f"{reader} reads {seen[:2]}", end="; " if reader != "pyarrow" else "\n")
        assert seen == expected, seen
PYTHON
