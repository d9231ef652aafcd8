#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What time it is on 15 December 2026, at 12:00 in UTC, in one Python environment, which has its time zones from several
# places:
#
#                                                    Vancouver   Edmonton   Casablanca
# - tzdata 2026.6 (`zoneinfo`), pytz 2026.6,
#   DuckDB 2.0.1                                      05:00       06:00      12:00
# - polars 2.1.0, DuckDB 1.1.3, and the zones that
#   python-dateutil 2.9.0.post0 brings along          04:00       05:00      13:00
#
# Where a value of polars becomes one of Python, as with `to_list`, it is another instant: the time of day is that of
# polars, 04:00 in Vancouver, and its zone that of `zoneinfo`, in which 04:00 is an hour earlier. Noon in UTC has become
# 11:00.
#
# polars and DuckDB have the zones in the program, as they were when it was built; no package `tzdata` changes them.
#
# Guessed before it was run: whoever installs the newest tzdata has its zones in all that asks for them by name.
#
# Whoever works out the time of a push with polars is an hour off for a country that has changed its clocks, and an
# update of the zones on all hosts does not mend it, but moves what `to_list` gives.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: tzdata==2026.6 pytz==2026.6 \
  polars==2.1.0 python-dateutil==2.9.0.post0

cat > "$folder/look.py" <<'PYTHON'
import datetime
import sys
import zoneinfo

import dateutil.zoneinfo
import duckdb
import polars
import pytz

zoneinfo.reset_tzpath([])  # No zones but those of the package.
moment = datetime.datetime(2026, 12, 15, 12, tzinfo=datetime.timezone.utc)
zones = ("America/Vancouver", "America/Edmonton", "Africa/Casablanca")
new, old = ["05:00", "06:00", "12:00"], ["04:00", "05:00", "13:00"]


def with_tzdata(zone):
    return moment.astimezone(zoneinfo.ZoneInfo(zone)).strftime("%H:%M")


def with_pytz(zone):
    return moment.astimezone(pytz.timezone(zone)).strftime("%H:%M")


def with_dateutil(zone):
    return moment.astimezone(dateutil.zoneinfo.get_zonefile_instance().get(zone)).strftime("%H:%M")


def column(zone):
    return polars.Series([moment]).dt.convert_time_zone(zone)


def with_polars(zone):
    assert column(zone).dt.hour()[0] == int(column(zone).dt.strftime("%H")[0])
    return column(zone).dt.strftime("%H:%M")[0]


def with_polars_to_list(zone):
    (value,) = column(zone).to_list()
    assert abs(moment - value) == datetime.timedelta(hours=1), value
    assert column(zone).dt.timestamp("ms")[0] == moment.timestamp() * 1000
    return value.strftime("%H:%M")


def with_duckdb(zone):
    return duckdb.execute("SELECT strftime(timezone(?, ?::timestamptz), '%H:%M')", [zone, str(moment)]).fetchone()[0]


expected = {
    with_tzdata: new,
    with_pytz: new,
    with_dateutil: old,
    with_polars: old,
    with_polars_to_list: old,
    with_duckdb: {"2.0.1": new, "1.1.3": old}[duckdb.__version__],
}
print(f"with DuckDB {duckdb.__version__}")
for way, times in expected.items():
    seen = [way(zone) for zone in zones]
    print(f"  {way.__name__}: {seen}")
    assert seen == times, seen
PYTHON

for version in 2.0.1 1.1.3; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$version"
  "$folder/python/bin/python" "$folder/look.py"
done
