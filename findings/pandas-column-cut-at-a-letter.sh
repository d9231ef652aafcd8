#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A CSV has one column, of devices or the like, and comes from others, who may have commas or semicolons; so it is read
# with `pandas.read_csv(..., sep=None, engine="python")` of pandas 3.1.1, which finds out. By the title of the column:
#
# - "topic", of news and sport: the columns "Unnamed: 0" and "opic", with "news" and "spor". The separator is the t.
# - "token": the separator is the t too. In hexadecimal digits there is none, so the tokens are whole, in the first
#   column, and the second, "oken", is empty.
# - "language": "lan", "ua" and "e". "device", of d-0000: "d", "vic" and a third; the separator is the e.
#
# There is no error. The separator is sought in the first line alone, where a letter is as good as a comma. clevercsv
# 0.8.5 has an @ for the separator of a column "user" of mail addresses, whose rows are cut there, and one column for
# the topics. polars 2.1.0 and DuckDB 2.0.1 have one column of each.
#
# Guessed before it was run: one column, or an error as no separator is found; a letter is never one.
#
# Whoever takes the lists of others so, and mails of them some with one column, sends to the topic "spor".
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pandas==3.1.1 clevercsv==0.8.5 \
  polars==2.1.0 duckdb==2.0.1
cd "$folder"
python/bin/python - <<'PYTHON'
import hashlib
import importlib.metadata

import clevercsv
import duckdb
import pandas
import polars

LISTS = {
    "topic": ["news", "sport"],
    "token": [hashlib.sha256(b"%d" % number).hexdigest() for number in range(40)],
    "language": ["de", "fr"],
    "device": [f"d-{number:04}" for number in range(40)],
    "user": [f"user-{number}@martlet.example" for number in range(40)],
}
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("pandas", "clevercsv", "polars", "duckdb")))
columns, first = {}, {}
for title, rows in LISTS.items():
    with open(f"{title}.csv", "w") as file:
        file.write("\n".join([title, *rows]) + "\n")
    frame = pandas.read_csv(f"{title}.csv", sep=None, engine="python")
    columns[title], first[title] = list(frame.columns), frame.iloc[:, 0].to_list()
    assert polars.read_csv(f"{title}.csv").columns == [title]
    assert duckdb.read_csv(f"{title}.csv").columns == [title]
    print(f"  {title}: {columns[title]}")
assert columns["topic"] == ["Unnamed: 0", "opic"] and first["topic"] == ["news", "spor"], first["topic"]
assert columns["token"] == ["Unnamed: 0", "oken"] and first["token"] == LISTS["token"]
assert columns["language"] == ["lan", "ua", "e"] and columns["device"][:2] == ["d", "vic"], columns
with_clevercsv = [clevercsv.read_table(f"{title}.csv")[1] for title in ("topic", "user")]
print(f"  clevercsv: {with_clevercsv}")
assert with_clevercsv == [["news"], ["user-0", "martlet.example"]], with_clevercsv
PYTHON
