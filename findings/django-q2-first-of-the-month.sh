#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A monthly schedule of django-q2 1.11.1 (`schedule_type=Schedule.MONTHLY`), with the zone of Berlin in the settings.
# Each time comes from the one before it, as the database has it, in UTC:
#
# - From 1 January 2026, 00:30: 1 February, 1 March, and then 29 March, 29 April, 29 May, and so on. 1 March at 00:30 in
#   Berlin is 28 February in UTC, after which comes the 28th of each month, late in the evening.
# - From 31 January, 09:00: 28 February, and then the 28th of each month.
# - From 1 January, 09:00: the first of each month.
#
# CalendarIntervalTrigger of APScheduler 3.11.3 has the first of each month at 00:30, and leaves out a month without a
# 31st.
#
# What one would guess: the first of a month stays the first, and what was cut to the 28th comes back to the 31st.
#
# Whoever sends "your new month has begun" just after midnight, anywhere east of Greenwich, sends it days before, from
# the spring on; it is right in the first two months, and for who tests it by day.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: django-q2==1.11.1 Django==5.2.19 \
  apscheduler==3.11.3 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import zoneinfo

import apscheduler.triggers.calendarinterval
import django
import django.conf

django.conf.settings.configure(
    USE_TZ=True,
    TIME_ZONE="Europe/Berlin",
    INSTALLED_APPS=["django_q"],
    Q_CLUSTER={"name": "pushes", "orm": "default", "time_zone": "Europe/Berlin", "timeout": 60, "retry": 120},
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
)
django.setup()

import django.core.management
from django_q.models import Schedule

django.core.management.call_command("migrate", verbosity=0)
berlin = zoneinfo.ZoneInfo("Europe/Berlin")


def text(time):
    return f"{time.astimezone(berlin):%d.%m. %H:%M}"


def with_django_q2(first):
    key = Schedule.objects.create(func="pushes.send", schedule_type=Schedule.MONTHLY, next_run=first).pk
    times = [first]
    for _ in range(6):
        schedule = Schedule.objects.get(pk=key)
        schedule.next_run = schedule.calculate_next_run()
        schedule.save()
        times.append(schedule.next_run)
    return [text(time) for time in times]


def with_apscheduler(first):
    trigger = apscheduler.triggers.calendarinterval.CalendarIntervalTrigger(
        months=1, hour=first.hour, minute=first.minute, start_date=first.date(), timezone=berlin
    )
    times = [first]
    for _ in range(6):
        times.append(trigger.get_next_fire_time(times[-1], times[-1]))
    return [text(time) for time in times]


for first, expected in (
    ((1, 0, 30), ["01.01.", "01.02.", "01.03.", "29.03.", "29.04.", "29.05.", "29.06."]),
    ((31, 9, 0), ["31.01.", "28.02.", "28.03.", "28.04.", "28.05.", "28.06.", "28.07."]),
    ((1, 9, 0), ["01.01.", "01.02.", "01.03.", "01.04.", "01.05.", "01.06.", "01.07."]),
):
    day, hour, minute = first
    first = datetime.datetime(2026, 1, day, hour, minute, tzinfo=berlin)
    seen, other = with_django_q2(first), with_apscheduler(first)
    print(f"django-q2: {', '.join(seen)}\n  APScheduler: {', '.join(other)}")
    assert seen == [f"{date} {hour:02}:{minute:02}" for date in expected], seen
    assert all(time.startswith(f"{day:02}.") for time in other), other
PYTHON
