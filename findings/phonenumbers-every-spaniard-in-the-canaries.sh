#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Nothing is to come in the night, and of a person no more is known than the number of a mobile telephone.
# `time_zones_for_number(number)` of phonenumbers 9.0.43 has a list of zones, and one takes the first. For the number
# that the library itself has as an example of a country's mobile ones, that is
#
# - Spain: Atlantic/Canary, an hour behind Madrid, with one person in twenty. Norway: Arctic/Longyearbyen, a town of a
#   few thousand. Portugal: Atlantic/Azores.
# - Australia: Australia/Adelaide, of eight. Russia: Asia/Almaty, which is in Kazakhstan, of 16; Moscow is the
#   fifteenth.
#
# They are in the order of the alphabet. A mobile number is of the whole country, so the list is too.
# `time_zones_for_geographical_number` has one for Spain, Norway, Australia and Russia: Madrid, Oslo, Sydney and Moscow.
#
# Guessed before it was run: the zone in which the most people are comes first.
#
# Whoever takes the first pushes to all of Spain an hour late, and to Moscow two hours early.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: phonenumbers==9.0.43 \
  tzdata==2026.6
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import zoneinfo

import phonenumbers
import phonenumbers.timezone as timezones

DAY = datetime.datetime(2026, 11, 29, 12)
print(f"phonenumbers {importlib.metadata.version('phonenumbers')}:")
for region, count, first, one, late in (
    ("ES", 2, "Atlantic/Canary", "Europe/Madrid", 1),
    ("NO", 2, "Arctic/Longyearbyen", "Europe/Oslo", 0),
    ("PT", 2, "Atlantic/Azores", None, 0),
    ("AU", 8, "Australia/Adelaide", "Australia/Sydney", 0.5),
    ("RU", 16, "Asia/Almaty", "Europe/Moscow", -2),
):
    number = phonenumbers.example_number_for_type(region, phonenumbers.PhoneNumberType.MOBILE)
    zones = timezones.time_zones_for_number(number)
    others = timezones.time_zones_for_geographical_number(number)
    print(f"  {region}: {zones[0]}, of {len(zones)}; {', '.join(others)}")
    assert (zones[0], len(zones)) == (first, count) and list(zones) == sorted(zones), zones
    if one:
        hours = [zoneinfo.ZoneInfo(zone).utcoffset(DAY) / datetime.timedelta(hours=1) for zone in (one, first)]
        assert others == (one,) and hours[0] - hours[1] == late, (others, hours)
russian = phonenumbers.example_number_for_type("RU", phonenumbers.PhoneNumberType.MOBILE)
assert timezones.time_zones_for_number(russian).index("Europe/Moscow") == 14
PYTHON
