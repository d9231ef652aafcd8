#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A reminder each day at 09:00 in Los Angeles, of which the last is on the 5th: `until` is 09:00 of that day, with the
# zone, as `dtstart` has it. icalendar 7.3.2 writes `UNTIL=20261105T090000`: the time of the clock, with neither zone
# nor Z. (RFC 5545, 3.3.10, asks for UTC there: 20261105T170000Z.) Then
#
# - recurring-ical-events 3.8.2 takes it for 09:00 in UTC, which is at night in Los Angeles: the last one is on the 4th.
#   In Berlin, where 09:00 in UTC comes after 09:00, it is on the 5th.
# - python-dateutil 2.9.0.post0 and icalevents 0.3.1 refuse to read it.
#
# If `until` is given in UTC, it is written with Z, and all have five. `dtstart` and `exdate` have their zone in any
# case.
#
# Guessed before it was run: a time with a zone is written so that it is the same time for whoever reads it.
#
# Whoever makes schedules with it, west of Greenwich, loses the last push of each; a test in Berlin finds nothing.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: icalendar==7.3.2 \
  recurring-ical-events==3.8.2 python-dateutil==2.9.0.post0 icalevents==0.3.1 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import zoneinfo

import dateutil.rrule
import icalendar
import icalevents.icalevents
import recurring_ical_events


def with_recurring(text, _):
    calendar = icalendar.Calendar.from_ical(text)
    return len(recurring_ical_events.of(calendar).between((2026, 10, 1), (2026, 12, 31)))


def with_dateutil(text, first):
    line = next(line for line in text.decode().splitlines() if line.startswith("RRULE:"))
    return len(list(dateutil.rrule.rrulestr(line, dtstart=first)))


def with_icalevents(text, _):
    start, end = datetime.datetime(2026, 10, 1), datetime.datetime(2026, 12, 31)
    return len(icalevents.icalevents.events(string_content=text, start=start, end=end))


def count(read, text, first):
    try:
        return read(text, first)
    except ValueError as error:
        assert "UNTIL" in str(error), error
        return "refused"


for name, written, right, recurring in (
    ("America/Los_Angeles", "20261105T090000", "20261105T170000Z", 4),
    ("Europe/Berlin", "20261105T090000", "20261105T080000Z", 5),
):
    first = datetime.datetime(2026, 11, 1, 9, 0, tzinfo=zoneinfo.ZoneInfo(name))
    last = first + datetime.timedelta(days=4)
    for until, line, counts in (
        (last, written, [recurring, "refused", "refused"]),
        (last.astimezone(datetime.timezone.utc), right, [5, 5, 5]),
    ):
        event = icalendar.Event()
        event.add("uid", "reminder")
        event.add("dtstamp", datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc))
        event.add("dtstart", first)
        event.add("rrule", {"freq": "daily", "until": until})
        calendar = icalendar.Calendar()
        calendar.add_component(event)
        text = calendar.to_ical()
        assert f"RRULE:FREQ=DAILY;UNTIL={line}\r\n".encode() in text, text
        seen = [count(read, text, first) for read in (with_recurring, with_dateutil, with_icalevents)]
        print(f"{until} in {name}: UNTIL={line}; reminders for recurring-ical-events, dateutil, icalevents: {seen}")
        assert seen == counts, seen
PYTHON
