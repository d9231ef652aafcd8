#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push goes out each hour, by a job that is scheduled in the process. The process does not run from 00:00 to 06:05, as
# on a machine that was suspended, and then looks for what is due once a second. How often it pushes at once:
#
# - schedule 1.2.2, `every().hour`: once. The next is at 07:05.
# - scheduler 0.8.11, `cyclic(timedelta(hours=1))`: six times within six seconds. The next is at 07:00. With
#   `skip_missing=True` it is once, and the next at 07:05.
# - APScheduler 3.11.3, `"interval", hours=1`: not at all. The next is at 07:00, and if the process looks at 07:00:02,
#   that one is not sent either. With `misfire_grace_time=None` it is once.
#
# The second works off what was missed, one by one; the third drops what is more than a second late.
#
# Guessed before it was run: once, as soon as it can, as what is late is sent late, and six are no more than one.
#
# Whoever goes from one to another has six pushes on a phone in the morning, or none in the hour of a restart.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: schedule==1.2.2 scheduler==0.8.11 \
  apscheduler==3.11.3 time-machine==3.6.0 tzdata==2026.1
TZ=UTC "$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import logging
import zoneinfo

import schedule
import scheduler
import time_machine
from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler

HOUR = datetime.timedelta(hours=1)
START = datetime.datetime(2026, 11, 29, tzinfo=zoneinfo.ZoneInfo("UTC"))
logging.getLogger("apscheduler").setLevel(logging.ERROR)


def with_schedule(push):
    jobs = schedule.Scheduler()
    jobs.every().hour.do(push)
    return jobs.run_pending


def with_scheduler(push, **options):
    jobs = scheduler.Scheduler(tzinfo=datetime.timezone.utc)
    jobs.cyclic(HOUR, push, **options)
    return jobs.exec_jobs


def with_apscheduler(push, **options):
    """Its jobs are looked at when this asks, and not by its thread."""
    jobs = BackgroundScheduler(timezone="UTC", executors={"default": DebugExecutor()})
    jobs.add_job(push, "interval", hours=1, **options)
    jobs.start(paused=True)

    def look():
        jobs.state = 1  # running
        jobs._process_jobs()

    return look


def run(make):
    """When it pushes, in seconds from 06:05. The looks stop after some, and go on at 07:00:02."""
    sent = []
    with time_machine.travel(START, tick=False) as now:
        look = make(lambda: sent.append(datetime.datetime.now(datetime.timezone.utc)))
        back = START + 6 * HOUR + datetime.timedelta(minutes=5)
        for second in [*range(12), 3302, *range(3590, 3620)]:
            now.move_to(back + datetime.timedelta(seconds=second))
            look()
    return [(moment - back).total_seconds() for moment in sent]


for name, make, expected in (
    ("schedule", with_schedule, [0, 3600]),
    ("scheduler", with_scheduler, [0, 1, 2, 3, 4, 5, 3302]),
    ("scheduler", lambda push: with_scheduler(push, skip_missing=True), [0, 3600]),
    ("apscheduler", with_apscheduler, []),
    ("apscheduler", lambda push: with_apscheduler(push, misfire_grace_time=None), [0, 3302]),
):
    seen = run(make)
    print(f"{name} {importlib.metadata.version(name)}: {seen}")
    assert seen == expected, seen
PYTHON
