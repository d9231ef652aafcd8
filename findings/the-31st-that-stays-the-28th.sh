#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A monthly push begins on 31 January 2026. The days of the first six, by what makes a row of times a month apart:
#
# - DuckDB 2.0.1, `generate_series(…, INTERVAL 1 MONTH)` and `range`, and pandas 3.1.1, `date_range(…,
#   freq=DateOffset(months=1))`: 31, 28, 28, 28, 28, 28. After February it never comes back.
# - polars 2.1.0, `date_range(…, "1mo")`, arrow 1.4.0, `Arrow.range("month", …)`, and pendulum 3.3.0,
#   `interval(…).range("months")`: 31, 28, 31, 30, 31, 30.
# - SQLite 3.40, `date('2026-01-31', '+1 month')` and so on: 31, then 3 March, 31 March, 1 May, 31 May and 1 July: none
#   in February, and two in March.
#
# The first two add a month to the day before, the next count months from the first, and the last moves on by the days
# that a month has not.
#
# Guessed before it was run: each counts months from the first, and cuts at the end of a month.
#
# Whoever pushes on the last day of a month, as bills are due, has it three days early for the rest of the year, and two
# services that plan the same campaign do so on two days.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: duckdb==2.0.1 pandas==3.1.1 \
  polars==2.1.0 arrow==1.4.0 pendulum==3.3.0 apsw==3.40.1.0 tzdata==2026.1
TZ=UTC "$folder/python/bin/python" -W ignore - <<'PYTHON'
import datetime

import apsw
import arrow
import duckdb
import pandas
import pendulum
import polars

FIRST, LAST = datetime.date(2026, 1, 31), datetime.date(2026, 7, 1)


def with_duckdb(function):
    query = f"SELECT unnest({function}(TIMESTAMP '{FIRST}', TIMESTAMP '{LAST}', INTERVAL 1 MONTH))"
    return [row[0] for row in duckdb.connect().execute(query).fetchall()]


def with_sqlite():
    run = apsw.Connection(":memory:").execute
    rows = [run("SELECT date(?, ?)", (f"{FIRST}", f"+{month} month")).fetchone() for month in range(6)]
    return [datetime.date.fromisoformat(row[0]) for row in rows]


def with_pendulum():
    return pendulum.interval(pendulum.instance(FIRST), pendulum.instance(LAST)).range("months")


def days(*numbers):
    return [(month, number) for month, number in enumerate(numbers, 1)]


stuck, right = days(31, 28, 28, 28, 28, 28), days(31, 28, 31, 30, 31, 30)
for name, made, expected in (
    (f"DuckDB {duckdb.__version__}, generate_series", with_duckdb("generate_series"), stuck),
    (f"DuckDB {duckdb.__version__}, range", with_duckdb("range"), stuck),
    (f"pandas {pandas.__version__}", pandas.date_range(FIRST, periods=6, freq=pandas.DateOffset(months=1)), stuck),
    (f"polars {polars.__version__}", polars.date_range(FIRST, LAST, "1mo", eager=True), right),
    (f"arrow {arrow.__version__}", arrow.Arrow.range("month", arrow.get(FIRST), limit=6), right),
    (f"pendulum {pendulum.__version__}", with_pendulum(), right),
    (f"SQLite {apsw.sqlitelibversion()}", with_sqlite(), [(1, 31), (3, 3), (3, 31), (5, 1), (5, 31), (7, 1)]),
):
    seen = [(moment.month, moment.day) for moment in made]
    print(f"{name}: {seen}")
    assert seen == expected, seen
PYTHON
