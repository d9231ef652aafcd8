#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes are counted in windows of six hours, with times in the zone of Berlin. On 25 October 2026, when summer time
# ends, the windows begin at
#
# - 00:00, 06:00, 12:00 and 18:00, of which the first has seven hours: polars 2.1.0, `dt.truncate("6h")`;
# - 00:00, 05:00, 11:00, 17:00 and 23:00: polars, `group_by_dynamic(every="6h")`, and pandas 3.1.1, `resample("6h")`;
# - 02:00 in summer time, 07:00, 13:00 and 19:00: DuckDB 2.0.1, `time_bucket(INTERVAL '6 hours', …)`, whatever the
#   session's time zone.
#
# In the night in which it begins, the first two have 06:00 and 07:00. On other days polars and pandas agree; pandas
# goes on in steps of six hours from the first day that it has, so it is an hour off on all days that come after such a
# night in the same table, and polars' `group_by_dynamic` too. DuckDB's windows are those of UTC.
#
# Guessed before it was run: they agree, at least the two ways of polars.
#
# Whoever compares counts of two tools, or joins a table truncated by one function to one grouped by the other, finds no
# row of the same window for the rest of the report.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: polars==2.1.0 pandas==3.1.1 \
  duckdb==2.0.1 tzdata==2026.6 pytz==2026.6
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import zoneinfo

import duckdb
import pandas
import polars

berlin, utc = zoneinfo.ZoneInfo("Europe/Berlin"), datetime.timezone.utc


def pushes(day):
    """One each half hour, from the day's midnight until noon of the next."""
    start = datetime.datetime.fromisoformat(day).replace(tzinfo=berlin).astimezone(utc)
    end = (datetime.datetime.fromisoformat(day) + datetime.timedelta(hours=36)).replace(tzinfo=berlin)
    count = int((end.astimezone(utc) - start) / datetime.timedelta(minutes=30))
    return [start + datetime.timedelta(minutes=30) * number for number in range(count)]


def frame(times):
    return polars.DataFrame({"t": times}).with_columns(polars.col("t").dt.convert_time_zone("Europe/Berlin"))


def polars_truncate(times):
    return frame(times).group_by(polars.col("t").dt.truncate("6h")).len().sort("t").rows()


def polars_group_by_dynamic(times):
    return frame(times).group_by_dynamic("t", every="6h").agg(polars.len()).rows()


def pandas_resample(times):
    index = pandas.DatetimeIndex(times).tz_convert("Europe/Berlin")
    return list(pandas.Series(1, index).resample("6h").sum().items())


def duckdb_time_bucket(times, zone="Europe/Berlin"):
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    connection.execute("CREATE TABLE pushes (t timestamptz)")
    connection.executemany("INSERT INTO pushes VALUES (?)", [[str(time)] for time in times])
    bucket = "SELECT epoch(time_bucket(INTERVAL '6 hours', t)) b, count(*) FROM pushes GROUP BY b ORDER BY b"
    found = connection.execute(bucket).fetchall()
    return [(datetime.datetime.fromtimestamp(start, utc), count) for start, count in found]


def duckdb_in_los_angeles(times):
    return duckdb_time_bucket(times, "America/Los_Angeles")


# The windows that begin on the day and on the next, and how many half hours the first two have.
expected = {
    "2026-10-25": {
        polars_truncate: ("00 06 12 18 00 06", [14, 12]),
        polars_group_by_dynamic: ("00 05 11 17 23 05 11", [12, 12]),
        pandas_resample: ("00 05 11 17 23 05 11", [12, 12]),
        duckdb_time_bucket: ("20 02 07 13 19 01 07", [4, 12]),
        duckdb_in_los_angeles: ("20 02 07 13 19 01 07", [4, 12]),
    },
    "2026-03-29": {
        polars_truncate: ("00 06 12 18 00 06", [10, 12]),
        polars_group_by_dynamic: ("00 07 13 19 01 07", [12, 12]),
        pandas_resample: ("00 07 13 19 01 07", [12, 12]),
        duckdb_time_bucket: ("19 01 08 14 20 02 08", [2, 12]),
        duckdb_in_los_angeles: ("19 01 08 14 20 02 08", [2, 12]),
    },
    "2026-11-03": {
        polars_truncate: ("00 06 12 18 00 06", [12, 12]),
        polars_group_by_dynamic: ("00 06 12 18 00 06", [12, 12]),
        pandas_resample: ("00 06 12 18 00 06", [12, 12]),
        duckdb_time_bucket: ("19 01 07 13 19 01 07", [2, 12]),
        duckdb_in_los_angeles: ("19 01 07 13 19 01 07", [2, 12]),
    },
}
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("polars", "pandas", "duckdb")))
for day, ways in expected.items():
    for way, (hours, counts) in ways.items():
        windows = way(pushes(day))
        seen = " ".join(start.astimezone(berlin).strftime("%H") for start, _ in windows)
        print(f"  {day}, {way.__name__}: {seen}; half hours {[count for _, count in windows]}")
        assert (seen, [count for _, count in windows[:2]]) == (hours, counts)
PYTHON
