#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Something begins at 09:00 in Berlin on 25 October 2026, the morning after summer time has ended, and its alarm is
# `TRIGGER:-PT12H`, twelve hours before, which is 22:00. icalendar 7.3.2 says of
#
# - `event.alarms.times`: 21:00, thirteen hours before. With a start in UTC, the same moment, it is twelve hours before.
#   In March, when summer time begins, it is eleven.
# - `event.end`, from 09:00 on the 24th with `DURATION:PT24H`: 09:00 on the 25th, 25 hours later. With `DURATION:P1D` it
#   is the same, which is right for a day.
#
# recurring-ical-events 3.8.2, with a rule for each day, has the same. In iCalendar (RFC 5545, 3.3.6) hours are exact,
# and days and weeks are those of the calendar.
#
# Guessed before it was run: a library of the format, which knows PT24H from P1D, tells them apart.
#
# Whoever pushes at the moments of alarms pushes an hour early or late on two days of the year, and only to those whose
# calendar has a zone.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: icalendar==7.3.2 \
  recurring-ical-events==3.8.2 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import icalendar
import recurring_ical_events

BERLIN = ";TZID=Europe/Berlin:"


def calendar(start, *lines):
    alarm = ("BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:soon", "TRIGGER:-PT12H", "END:VALARM")
    event = ("BEGIN:VEVENT", "UID:1", "DTSTAMP:20261001T000000Z", f"DTSTART{start}", *lines, *alarm, "END:VEVENT")
    text = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//martlet//finding//EN", *event, "END:VCALENDAR")
    return icalendar.Calendar.from_ical("\r\n".join(text) + "\r\n")


def event(*lines):
    return calendar(*lines).walk("VEVENT")[0]


def hours(first, last):
    return (last.astimezone(datetime.UTC) - first.astimezone(datetime.UTC)) / datetime.timedelta(hours=1)


def before(one):
    (alarm,) = one.alarms.times
    return hours(alarm.trigger, one.start)


alarms = [
    before(event(f"{BERLIN}20261025T090000", "DURATION:PT1H")),
    before(event(":20261025T080000Z", "DURATION:PT1H")),
    before(event(f"{BERLIN}20260329T090000", "DURATION:PT1H")),
]
lengths = []
for duration in ("PT24H", "P1D"):
    one = event(f"{BERLIN}20261024T090000", f"DURATION:{duration}")
    lengths.append(hours(one.start, one.end))
daily = calendar(f"{BERLIN}20261024T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=3")
found = recurring_ical_events.of(daily).between(datetime.date(2026, 10, 24), datetime.date(2026, 10, 28))
by_day = {one.start.day: before(one) for one in found}
print(f"icalendar {importlib.metadata.version('icalendar')}: {alarms} hours before; {lengths} hours long; {by_day}")
assert alarms == [13, 12, 11] and lengths == [25, 25], (alarms, lengths)
assert by_day == {24: 12, 25: 13, 26: 12}, by_day
PYTHON
