#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push every quarter of an hour, `*/15`, in Berlin. On 2037-10-25 the hour from 02:00 comes twice, and the day has
# 25 hours; on 2037-03-29 it does not come, and the day has 23:
#
# - celery 5.7.0, `crontab(minute="*/15")`, with the schedule that its beat has: in October nothing for 75 minutes, from
#   02:45 in summer time to 03:00 in winter time. 96 times that day. 92 in March.
# - arq 0.28.0, `cron(push, minute={0, 15, 30, 45})`: the same 75 minutes. In March those of 02:00 to 02:45, which
#   are no times, and 03:00 come within two seconds at 03:00. 96 times on either day.
# - croniter 7.0.0, cronsim 2.8 and APScheduler 3.11.3: each quarter of an hour, 100 and 92 times.
#
# Guessed before it was run: 100 times and 92 for each. Times of day that are named, as 02:30, are a question in such
# a night, but every quarter of an hour is not, and all of them know of zones.
#
# Whoever looks by that for what is due, or for what has expired, is an hour late once a year.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: celery==5.7.0 arq==0.28.0 \
  croniter==7.0.0 cronsim==2.8 apscheduler==3.11.3 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import logging
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import apscheduler.triggers.cron
import arq
import celery
import celery.beat
import celery.schedules
import croniter
import cronsim

logging.disable(logging.CRITICAL)
berlin, utc, quarter = ZoneInfo("Europe/Berlin"), timezone.utc, timedelta(minutes=15)


def with_celery(start, end):
    """The scheduler of beat, with a clock of ours."""
    app, clock, seen = celery.Celery(broker="memory://"), [start - timedelta(seconds=10)], []
    app.conf.timezone = "Europe/Berlin"
    app.conf.beat_schedule = {"push": {"task": "push", "schedule": celery.schedules.crontab(minute="*/15")}}
    app.now = lambda: clock[0].astimezone(app.timezone)

    class Scheduler(celery.beat.Scheduler):
        def apply_entry(self, entry, producer=None):
            seen.append(clock[0])

    scheduler = Scheduler(app=app)
    scheduler.setup_schedule()
    while clock[0] < end - timedelta(minutes=1):
        clock[0] += timedelta(seconds=min(max(scheduler.tick(), 0.1), 20))
    return seen


def with_arq(start, end):
    """The worker's look at its crons, each half second, with a clock and a queue of ours."""
    moment, seen = start - timedelta(seconds=10), []

    class Queue:
        async def enqueue_job(self, name, _defer_until, **_):
            # The worker passes it if it is after `datetime.now(tz=berlin)`, which is earlier here.
            seen.append(_defer_until.astimezone(utc) if _defer_until > moment.astimezone(berlin) else moment)

    async def push(context):
        pass

    async def work():
        nonlocal moment
        crons = [arq.cron(push, minute={0, 15, 30, 45})]
        worker = arq.Worker([], cron_jobs=crons, redis_pool=Queue(), timezone=berlin, handle_signals=False)
        while moment < end - timedelta(minutes=1):
            await worker.run_cron(moment.astimezone(berlin), 0.5)
            moment += timedelta(seconds=0.5)

    asyncio.run(work())
    return seen


def until(end, times):
    seen = []
    for time in times:
        if time.astimezone(utc) >= end:
            return seen
        seen.append(time.astimezone(utc))


def with_cronsim(start, end):
    return until(end, cronsim.CronSim("*/15 * * * *", (start - timedelta(seconds=1)).astimezone(berlin)))


def with_croniter(start, end):
    times = croniter.croniter("*/15 * * * *", (start - timedelta(seconds=1)).astimezone(berlin))
    return until(end, iter(lambda: times.get_next(datetime), None))


def with_apscheduler(start, end):
    trigger = apscheduler.triggers.cron.CronTrigger.from_crontab("*/15 * * * *", timezone=berlin)
    previous = None

    def following():
        nonlocal previous
        previous = trigger.get_next_fire_time(previous, previous or start)
        return previous

    return until(end, iter(following, None))


names = ("celery", "arq", "croniter", "cronsim", "apscheduler")
print(*(f"{name} {importlib.metadata.version(name)};" for name in names))
for client, autumn, spring in (
    (with_celery, (96, [75]), (92, [])),
    (with_arq, (96, [75]), (96, [0, 0, 0, 0])),
    (with_croniter, (100, []), (92, [])),
    (with_cronsim, (100, []), (92, [])),
    (with_apscheduler, (100, []), (92, [])),
):
    for day, expected in ((datetime(2037, 10, 25), autumn), (datetime(2037, 3, 29), spring)):
        start = day.replace(tzinfo=berlin).astimezone(utc)
        end = (day + timedelta(days=1)).replace(tzinfo=berlin).astimezone(utc)
        seen = client(start, end)
        odd = [(a, b) for a, b in zip(seen, seen[1:]) if abs((b - a) - quarter) > timedelta(minutes=1)]
        told = [f"{a.astimezone(berlin):%H:%M:%S%z} to {b.astimezone(berlin):%H:%M:%S%z}" for a, b in odd]
        print(f"  {client.__name__}, {day:%Y-%m-%d}: {len(seen)} times; not a quarter of an hour: {told}")
        assert (len(seen), [round((b - a) / timedelta(minutes=1)) for a, b in odd]) == expected
PYTHON
