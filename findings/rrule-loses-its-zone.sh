#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push each day at 09:00 in Berlin, from 27 March 2026 until 09:00 of the 31st. It is written down as text, in the
# form of RFC 5545, and read again. Summer time begins on the 29th. What the same library then has:
#
# - python-dateutil 2.9.0.post0, `str(rule)` and `rrulestr`: 09:00 without a zone. If `until` was given in UTC, as that
#   library asks for in text, it is written as 07:00 without a zone, and the last of the five is gone.
# - django-recurrence 1.14, `serialize`, which its field of a model writes into the database, and `deserialize`: 08:00
#   in UTC, which is 09:00 in Berlin, and from the 29th on 10:00; that of the 31st is gone. Before, it has all at 09:00.
#
# Neither raises an error. The former writes DTSTART without a zone, the latter makes it UTC; the form has TZID for it.
#
# Guessed before it was run: what it writes it reads again as the same times, or it refuses to write a zone.
#
# Whoever stores reminders so has them an hour late for half of the year, or in the time of the server.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: python-dateutil==2.9.0.post0 \
  django-recurrence==1.14 Django==5.2.19 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import zoneinfo

import dateutil.rrule
import django
import django.conf

django.conf.settings.configure(USE_TZ=True, TIME_ZONE="Europe/Berlin")
django.setup()

import recurrence

berlin = zoneinfo.ZoneInfo("Europe/Berlin")
first = datetime.datetime(2026, 3, 27, 9, 0, tzinfo=berlin)
last = datetime.datetime(2026, 3, 31, 9, 0, tzinfo=berlin)
utc = datetime.timezone.utc


def hours(times):
    return [f"{time:%d. %H:%M}" for time in times]


right = [f"{day}. 09:00" for day in range(27, 32)]
for name, until, expected in (("in Berlin", last, right), ("in UTC", last.astimezone(utc), right[:-1])):
    rule = dateutil.rrule.rrule(dateutil.rrule.DAILY, dtstart=first, until=until)
    again = list(dateutil.rrule.rrulestr(str(rule)))
    print(f"dateutil, until {name}: {hours(rule)} is, of {str(rule).split()},")
    print(f"  {hours(again)}, zone {again[0].tzinfo}")
    assert hours(rule) == right and hours(again) == expected and again[0].tzinfo is None

rule = recurrence.Recurrence(dtstart=first, rrules=[recurrence.Rule(recurrence.DAILY, until=last)])
text = recurrence.serialize(rule)
again = [time.astimezone(berlin) for time in recurrence.deserialize(text).occurrences()]
print(f"django-recurrence: {hours(rule.occurrences())} is, of {text.split()},")
print(f"  {hours(again)} in Berlin")
assert hours(rule.occurrences()) == right
assert hours(again) == ["27. 09:00", "28. 09:00", "29. 10:00", "30. 10:00"], hours(again)
PYTHON
