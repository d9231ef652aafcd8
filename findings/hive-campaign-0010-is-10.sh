#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes are in Parquet files in a folder for each campaign, in Hive's form: campaign=0010/, of three, and campaign=10/,
# of two. They are two folders and two campaigns. How many pushes a campaign has, for what reads all of them:
#
# - pyarrow 26.0.1, `read_table` and `dataset`, and polars 2.1.0, `read_parquet`: five, of campaign 10.
# - DuckDB 2.0.1: three of 0010, and two of 10.
# - pandas 3.1.1, `read_parquet`: ValueError, "Categorical categories must be unique".
#
# With a third folder, campaign=summer/, the first two have three texts. The kind of a column that is in no file is
# taken from the folders' names, all of them together.
#
# Guessed before it was run: what is a name of a folder is a text, or at the least two names are two values.
#
# Whoever counts a campaign's pushes so has those of two in one, until a campaign with a letter comes.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: duckdb==2.0.1 polars==2.1.0 \
  pandas==3.1.1 pyarrow==26.0.1
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import collections
import pathlib
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

folder = sys.argv[1]


def write(name, pushes):
    base = pathlib.Path(folder, name)
    for campaign, number in pushes.items():
        part = base / f"campaign={campaign}"
        part.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(pyarrow.table({"token": [str(one) for one in range(number)]}), part / "a.parquet")
    return str(base)


def with_duckdb(base):
    return [row[1] for row in duckdb.connect().execute(f"SELECT token, campaign FROM '{base}/*/*.parquet'").fetchall()]


def with_dataset(base):
    return pyarrow.dataset.dataset(base, partitioning="hive").to_table()["campaign"].to_pylist()


def with_pandas(base):
    try:
        return list(pandas.read_parquet(base)["campaign"])
    except ValueError as error:
        return [str(error)]


ways = {
    "pyarrow, read_table": lambda base: pyarrow.parquet.read_table(base)["campaign"].to_pylist(),
    "pyarrow, dataset": with_dataset,
    "polars": lambda base: polars.read_parquet(base)["campaign"].to_list(),
    "pandas": with_pandas,
    "DuckDB": with_duckdb,
}
two, three = write("two", {"0010": 3, "10": 2}), write("three", {"0010": 3, "10": 2, "summer": 1})
print(*(f"{module.__name__} {module.__version__};" for module in (pyarrow, polars, pandas, duckdb)))
apart = {"0010": 3, "10": 2}
for name, read in ways.items():
    seen, more = collections.Counter(read(two)), collections.Counter(read(three))
    print(f"  {name}: {dict(seen)}; with the third {dict(more)}")
    if name == "pandas":
        assert seen == {"Categorical categories must be unique": 1}, seen
    else:
        assert seen == (apart if name == "DuckDB" else {10: 5}), seen
    assert more == {**apart, "summer": 1}, more
PYTHON
