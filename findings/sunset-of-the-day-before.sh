#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push goes out at sunset of 15 June 2026, where the person is. The moment, as that place's clocks have it:
#
# - Los Angeles, astral 3.2, `sunset(place, date(2026, 6, 15))`, which is in UTC: on the 14th at 20:05. In Honolulu it
#   is on the 14th, too. With `tzinfo=` the zone of the place it is on the 15th: the zone is not for the form alone.
# - Sunrise in Auckland, in the same way: on the 16th, and with `tzinfo=` on the 15th. In Berlin both are right.
# - suntime 1.4.0 with the place's zone is right in Los Angeles, Honolulu and Auckland. On Kiritimati, at UTC+14, both
#   sunrise and sunset are those of the 16th.
#
# Guessed before it was run: the sunset of a date is on this date at the place, whichever zone it is written in.
#
# Whoever keeps all times in UTC, as one should, has a push for America that was due a day before, and sends it at once
# or not at all; a test in Europe is right.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: astral==3.2 suntime==1.4.0 \
  tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import zoneinfo

import astral
import astral.sun
import suntime

DAY, NIGHT = datetime.date(2026, 6, 15), datetime.datetime(2026, 6, 15)
PLACES = {
    "America/Los_Angeles": (34.05, -118.24),
    "Pacific/Honolulu": (21.31, -157.86),
    "Pacific/Auckland": (-36.85, 174.76),
    "Europe/Berlin": (52.52, 13.40),
    "Pacific/Kiritimati": (1.87, -157.43),
}
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("astral", "suntime")))
print("  days of sunrise and sunset with astral, with its tzinfo, and with suntime:")
for name, expected in (
    ("America/Los_Angeles", [(15, 14), (15, 15), (15, 15)]),
    ("Pacific/Honolulu", [(15, 14), (15, 15), (15, 15)]),
    ("Pacific/Auckland", [(16, 15), (15, 15), (15, 15)]),
    ("Europe/Berlin", [(15, 15), (15, 15), (15, 15)]),
    ("Pacific/Kiritimati", [(16, 15), (15, 15), (16, 16)]),
):
    zone, place, sun = zoneinfo.ZoneInfo(name), astral.Observer(*PLACES[name]), suntime.Sun(*PLACES[name])
    moments = [
        (astral.sun.sunrise(place, DAY), astral.sun.sunset(place, DAY)),
        (astral.sun.sunrise(place, DAY, tzinfo=zone), astral.sun.sunset(place, DAY, tzinfo=zone)),
        (sun.get_sunrise_time(NIGHT, zone), sun.get_sunset_time(NIGHT, zone)),
    ]
    seen = [tuple(moment.astimezone(zone).day for moment in each) for each in moments]
    print(f"  {name}: {seen}")
    assert seen == expected, seen
    assert all(4 <= rise.astimezone(zone).hour < 9 and 16 < set_.astimezone(zone).hour < 22 for rise, set_ in moments)
PYTHON
