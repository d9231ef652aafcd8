#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes of today and of yesterday are counted by topic, `group_by("topic").len()`, and the counts are subtracted. A
# topic has two today and three yesterday. How many more it has today:
#
# - polars 2.1.0, `pl.col("today") - pl.col("yesterday")`: 4294967295. So it is with `pl.len() - 3` of two rows, and
#   with `with_row_index()`, whose column less one is that in the first row. `diff()` of the same counts is -1, and of
#   topics that have more, all is right.
# - pandas 3.1.1, `size()`, and DuckDB 2.0.1, `count(*)`: -1.
#
# A count is an unsigned number of 32 bits in polars, and what is below zero begins anew at the other end, with no
# error.
#
# Guessed before it was run: -1, or an error.
#
# Whoever sorts topics by how many more they had has at the top those that had fewer, and an alert on a drop never
# comes.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: polars==2.1.0 pandas==3.1.1 \
  duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import duckdb
import pandas
import polars as pl

TODAY, YESTERDAY = ["news", "news", "sport", "sport"], ["news", "news", "news", "sport"]


def with_polars():
    def counts(topics, name):
        return pl.DataFrame({"topic": topics}).group_by("topic").len(name)

    both = counts(TODAY, "today").join(counts(YESTERDAY, "yesterday"), on="topic")
    return dict(both.select("topic", pl.col("today") - pl.col("yesterday")).rows())


def with_pandas():
    def counts(topics):
        return pandas.DataFrame({"topic": topics}).groupby("topic").size()

    return (counts(TODAY) - counts(YESTERDAY)).to_dict()


def with_duckdb():
    counts = "SELECT topic, count(*) AS number FROM (SELECT unnest(?) AS topic) GROUP BY ALL"
    query = f"SELECT topic, a.number - b.number FROM ({counts}) AS a JOIN ({counts}) AS b USING (topic)"
    return dict(duckdb.connect().execute(query, [TODAY, YESTERDAY]).fetchall())


seen = with_polars(), with_pandas(), with_duckdb()
print(f"polars {pl.__version__}, pandas {pandas.__version__}, DuckDB {duckdb.__version__}: {seen}")
assert seen == ({"news": 2**32 - 1, "sport": 1}, {"news": -1, "sport": 1}, {"news": -1, "sport": 1}), seen
two = pl.DataFrame({"token": ["0a", "1b"]})
assert two.select(pl.len() - 3).item() == 2**32 - 1
assert two.with_row_index().select(pl.col("index") - 1).to_series().to_list() == [2**32 - 1, 0]
counts = pl.DataFrame({"day": [1, 1, 1, 2, 2]}).group_by("day", maintain_order=True).len()
assert counts["len"].to_list() == [3, 2] and counts["len"].diff().to_list() == [None, -1], counts
PYTHON
