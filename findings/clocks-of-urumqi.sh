#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push goes out at 09:00 where the device is, of which the coordinates are known. Which time zone that is, by two
# libraries that have the same borders from OpenStreetMap:
#
# - Ürümqi (43.80 N, 87.60 E), of three million people: Asia/Shanghai, UTC+8, with `get_tz` of tzfpy 2.1.1; Asia/Urumqi,
#   UTC+6, with `timezone_at` of timezonefinder 9.0.0. So it is in Kashgar and Turpan.
# - Beijing, Berlin, Los Angeles, Kolkata and São Paulo: the same with both.
#
# Two zones hold there, of which `get_tzs` of tzfpy has both, and each of the functions for one takes another.
#
# Guessed before it was run: the same for each large city; they may differ at a border.
#
# Whoever goes from one to the other moves the pushes of a region by two hours.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: tzfpy==2.1.1 \
  timezonefinder==9.0.0 timezonefinder-data==3.2026.3.post1 tzdata==2026.6
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import zoneinfo

import timezonefinder
import tzfpy

NINE = datetime.datetime(2026, 11, 29, 9)
finder = timezonefinder.TimezoneFinder()
for name in ("tzfpy", "timezonefinder"):
    print(name, importlib.metadata.version(name), end="; ")
print()
for city, latitude, longitude, apart in (
    ("Urumqi", 43.80, 87.60, 2),
    ("Kashgar", 39.47, 75.99, 2),
    ("Turpan", 42.95, 89.18, 2),
    ("Beijing", 39.91, 116.40, 0),
    ("Berlin", 52.52, 13.41, 0),
    ("Los Angeles", 34.05, -118.24, 0),
    ("Kolkata", 22.56, 88.36, 0),
    ("Sao Paulo", -23.55, -46.63, 0),
):
    zones = tzfpy.get_tz(longitude, latitude), finder.timezone_at(lng=longitude, lat=latitude)
    offsets = [zoneinfo.ZoneInfo(zone).utcoffset(NINE) for zone in zones]
    print(f"  {city}: {zones}")
    assert offsets[0] - offsets[1] == datetime.timedelta(hours=apart), offsets
    assert (set(zones) == {"Asia/Shanghai", "Asia/Urumqi"}) == bool(apart), zones
    assert not apart or sorted(tzfpy.get_tzs(longitude, latitude)) == ["Asia/Shanghai", "Asia/Urumqi"]
PYTHON
