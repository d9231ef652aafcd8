#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A table has the time at which each push is to expire, and `column.astype("int64") // 10**9` makes the seconds since
# 1970 of it, as `apns-expiration` has them. Of noon of 29 November 2026, in UTC:
#
# - pandas 2.3.3: 1795953600, however the column came about.
# - pandas 3.1.1: 1795953, which is in January 1970, of texts, of datetimes, of seconds with `unit="s"`, of a CSV and of
#   `date_range`. It is 1795953600 if a text of the column has nine digits behind the second, and 1 for a column of
#   numpy in whole seconds. `Timestamp.value` of each value is in nanoseconds still.
#
# A column has microseconds now, unless it needs more, and the number is of those.
#
# Guessed before it was run: nanoseconds, as for fifteen years, or an error where it is not.
#
# After its `apns-expiration` a push is not valid any more, and APNs does not keep it: whoever goes from 2 to 3 loses
# each push to a phone that is off, and no error says so. A file in which one time has nanoseconds is right.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "pandas==$1" numpy==2.3.5 \
    tzdata==2026.1
  TZ=UTC "$folder/python/bin/python" - "$2" "$3" <<'PYTHON'
import datetime
import io
import sys

import numpy
import pandas

usual, whole_seconds = (int(text) for text in sys.argv[1:])
SECONDS, TEXT = 1_795_953_600, "2026-11-29T12:00:00Z"
columns = {
    "texts": pandas.Series(pandas.to_datetime([TEXT])),
    "datetimes": pandas.Series([datetime.datetime.fromtimestamp(SECONDS, datetime.timezone.utc)]),
    "seconds": pandas.Series(pandas.to_datetime([SECONDS], unit="s", utc=True)),
    "a CSV": pandas.read_csv(io.StringIO(f"expires\n{TEXT}\n"), parse_dates=["expires"])["expires"],
    "date_range": pandas.Series(pandas.date_range("2026-11-29T12:00", periods=1, tz="UTC")),
}
seen = {name: int((column.astype("int64") // 10**9).iloc[0]) for name, column in columns.items()}
print(f"pandas {pandas.__version__}: {seen}")
assert set(seen.values()) == {usual}, seen
nanoseconds = pandas.Series(pandas.to_datetime([TEXT, "2026-11-29T12:00:00.123456789Z"], format="ISO8601"))
assert list(nanoseconds.astype("int64") // 10**9) == [SECONDS] * 2, nanoseconds
of_numpy = pandas.Series(numpy.array(["2026-11-29T12:00"], dtype="datetime64[s]"))
assert list(of_numpy.astype("int64") // 10**9) == [whole_seconds], of_numpy
assert {column.iloc[0].value // 10**9 for column in columns.values()} == {SECONDS}
PYTHON
}

look 2.3.3 1795953600 1
look 3.1.1 1795953 1
