#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes take 10 ms each, but for one, which takes 5,000 ms. The 99th percentile of so many of them, in milliseconds:
#
#                                            of 20      of 100     of 101
#   statistics.quantiles of Python 3.11      8,942.1    4,950.1    4,900.2
#   numpy 2.4.6, pandas 3.1.1, quantile_cont of DuckDB 2.0.1
#                                            4,051.9       59.9       10
#   polars 2.1.0                             5,000         10         10
#   quantile_disc of DuckDB                  5,000         10         10
#
# That of Python says 8.9 s, where the slowest took 5. Of 0.05 s and 0.3 s it has a first percentile of -0.19 s. It
# takes the data for a sample of more, whose ends it has not seen, and draws the line on beyond them; numpy draws it
# between two values, and the others give one of the values.
#
# What one would guess: a percentile lies between the least and the greatest, and they differ by a rounding.
#
# Whoever alerts at a p99 of 6 s is called by a run of 20 pushes in which none took that long; with polars, the one slow
# push of a hundred is not there.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: numpy==2.4.6 pandas==3.1.1 \
  polars==2.1.0 duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import platform
import statistics

import duckdb
import numpy
import pandas
import polars


def with_duckdb(function, values):
    rows = duckdb.execute(f"SELECT {function}(value, 0.99) FROM (SELECT unnest(?) AS value)", [values]).fetchall()
    return rows[0][0]


ways = {
    "statistics": (lambda values: statistics.quantiles(values, n=100)[98], (8942.1, 4950.1, 4900.2)),
    "numpy": (lambda values: numpy.percentile(values, 99), (4051.9, 59.9, 10)),
    "pandas": (lambda values: pandas.Series(values).quantile(0.99), (4051.9, 59.9, 10)),
    "quantile_cont": (lambda values: with_duckdb("quantile_cont", values), (4051.9, 59.9, 10)),
    "polars": (lambda values: polars.Series(values).quantile(0.99), (5000, 10, 10)),
    "quantile_disc": (lambda values: with_duckdb("quantile_disc", values), (5000, 10, 10)),
}
print("Python", platform.python_version(), "the 99th percentile of 20, 100 and 101 pushes:")
for name, (way, expected) in ways.items():
    seen = tuple(round(float(way([10] * (count - 1) + [5000])), 1) for count in (20, 100, 101))
    print(f"  {name}: {seen}")
    assert seen == expected, seen
first = statistics.quantiles([0.05, 0.3], n=100)[0]
print(f"  statistics, the first percentile of 0.05 and 0.3: {first:.4f}")
assert round(first, 4) == -0.1925
PYTHON
