#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A query of MySQL picks who gets the digest of Sunday, and sqlglot 30.30.0 translates it to DuckDB 2.0.1, with no error
# or warning. Which day the query picks then:
#
# - `DAYOFWEEK(day) = 1`, which is Sunday in MySQL: Monday. So with that of Spark and `EXTRACT(DAYOFWEEK FROM day)` of
#   BigQuery, in which 1 is Sunday, too.
# - `WEEKDAY(day) = 6`, which is Sunday in MySQL and Spark: Saturday.
# - `day_of_week(day) = 7` of Presto and `toDayOfWeek(day) = 7` of ClickHouse: Sunday; they become ISODOW.
#
# The names are kept, and in DuckDB both functions have 0 for Sunday. `TIMESTAMPDIFF(HOUR, …)` of 00:59 and 01:01, of
# which MySQL counts the whole hours, 0, becomes DATE_DIFF, and is 1.
#
# Guessed before it was run: Sunday stays Sunday, as the number is what each dialect has another of.
#
# Whoever tries the queries of production on a laptop so has the right number of people, if all days are alike, and the
# wrong ones.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: sqlglot==30.30.0 duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import duckdb
import sqlglot

database = duckdb.connect()
database.execute("CREATE TABLE week AS SELECT DATE '2026-11-23' + n::INTEGER AS day FROM range(7) AS numbers(n)")
print(f"sqlglot {sqlglot.__version__}, DuckDB {duckdb.__version__}:")
for dialect, condition, expected in (
    ("mysql", "DAYOFWEEK(day) = 1", "Monday"),
    ("spark", "DAYOFWEEK(day) = 1", "Monday"),
    ("bigquery", "EXTRACT(DAYOFWEEK FROM day) = 1", "Monday"),
    ("mysql", "WEEKDAY(day) = 6", "Saturday"),
    ("spark", "WEEKDAY(day) = 6", "Saturday"),
    ("presto", "day_of_week(day) = 7", "Sunday"),
    ("clickhouse", "toDayOfWeek(day) = 7", "Sunday"),
):
    query = f"SELECT day FROM week WHERE {condition}"
    (translated,) = sqlglot.transpile(query, read=dialect, write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
    (day,) = (row[0] for row in database.execute(translated).fetchall())
    print(f"  {dialect}, {condition}: {day:%A}, of {translated.partition('WHERE ')[2]}")
    assert f"{day:%A}" == expected, day
hours = "SELECT TIMESTAMPDIFF(HOUR, TIMESTAMP '2026-11-29 00:59:00', TIMESTAMP '2026-11-29 01:01:00')"
(translated,) = sqlglot.transpile(hours, read="mysql", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
seen = database.execute(translated).fetchone()[0]
print(f"  mysql, hours from 00:59 to 01:01: {seen}")
assert seen == 1
PYTHON
