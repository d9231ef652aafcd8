#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# London and Dublin have had the same time for decades, and change their clocks at the same moments. At 01:30 of the night
# in which summer time ends (2026-10-25; there are two of them, 00:30 and 01:30 UTC) libraries treat them differently:
#
# - pytz 2026.2: `timezone(name).localize(01:30)` is 01:30 UTC in London and 00:30 UTC in Dublin.
# - python-dateutil 2.9.0.post0, with the zones that it brings along: 01:30 UTC, an instant beyond doubt, converted with
#   `astimezone` to Dublin's time is 01:30+01:00, which is 00:30 UTC: the conversion has moved it by an hour. To London's
#   it is 01:30+00:00. Both 01:30 of Dublin are the first, whatever `fold` says. python-dateutil 4.0.0 does not do this.
# - zoneinfo of Python 3.11, with tzdata 2026.1, gives the same for both cities.
#
# In the time zone database Ireland's standard time is that of the summer, and its winter has one hour less, "saved".
#
# Guessed before it was run: zones with the same offsets and the same changes give the same instant for a local time, in
# each of the libraries with its own defaults.
#
# Whoever makes a time of sending, in RFC 3339, of a local time in Ireland may send an hour early in that hour.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "python-dateutil==$1" \
    pytz==2026.2 tzdata==2026.1
  PYTHONTZPATH='' "$folder/python/bin/python" -W ignore - "$2" <<'PYTHON'
import importlib.metadata
import sys
import zoneinfo
from datetime import datetime, timezone

import dateutil.zoneinfo
import pytz

wall = datetime(2026, 10, 25, 1, 30)
instants = [datetime(2026, 10, 25, hour, 30, tzinfo=timezone.utc) for hour in (0, 1)]


def utc(time):
    return time.astimezone(timezone.utc).strftime("%H:%M")


seen = {}
for city in ("London", "Dublin"):
    name = f"Europe/{city}"
    own = dateutil.zoneinfo.get_zonefile_instance().get(name)
    for library, zone in {"zoneinfo": zoneinfo.ZoneInfo(name), "dateutil": own}.items():
        seen[library, city] = {
            "written": [utc(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)],
            "converted": [instant.astimezone(zone).isoformat()[11:] for instant in instants],
        }
    seen["pytz", city] = {
        "written": utc(pytz.timezone(name).localize(wall)),
        "converted": [instant.astimezone(pytz.timezone(name)).isoformat()[11:] for instant in instants],
    }

print("python-dateutil", importlib.metadata.version("python-dateutil"))
for (library, city), found in seen.items():
    print(f"  {library} {city}: 01:30 is {found['written']} UTC; 00:30 and 01:30 UTC are {found['converted']}")

converted = ["01:30:00+01:00", "01:30:00+00:00"]
right = {"written": ["00:30", "01:30"], "converted": converted}
moved = {"written": ["00:30", "00:30"], "converted": ["01:30:00+01:00", "01:30:00+01:00"]}
assert seen["zoneinfo", "London"] == seen["zoneinfo", "Dublin"] == seen["dateutil", "London"] == right, seen
assert seen["dateutil", "Dublin"] == (moved if sys.argv[1] == "moved" else right), seen
assert seen["pytz", "London"] == {"written": "01:30", "converted": converted}, seen
assert seen["pytz", "Dublin"] == {"written": "00:30", "converted": converted}, seen
PYTHON
}

look 2.9.0.post0 moved
look 4.0.0 right
