#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `0 9 1 * 1`: at 09:00 of the first of a month, and of each Monday. If both days are restricted, either is enough for
# cron: 61 days of 2027, for croniter 7.0.0, cronsim 2.8 and pycron 3.3.0 as for Debian's cron (crontab(5)).
#
# - crontab 1.0.5 and cron-converter 2.0.2 take both together, a first that is a Monday: three days of 2027.
# - cron-descriptor 2.2.1, which tells people what an expression means, has "on day 1 of the month, or on Monday".
#
# With `0 9 * * 7`, which is Sunday for cron, as 0 is, pycron has no day at all, and the others have 52.
#
# What one would guess: what reads crontabs of Unix takes either, since it is in the manual; a 7 that is not known is an
# error.
#
# Whoever moves a table of schedules to one of them, or shows their meaning with the other, sends three pushes where
# there were 61, or none, and nothing is logged.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: --no-binary crontab crontab==1.0.5 \
  cron-converter==2.0.2 cron-descriptor==2.2.1 pycron==3.3.0 croniter==7.0.0 cronsim==2.8
"$folder/python/bin/python" - <<'PYTHON'
import datetime

import cron_converter
import cron_descriptor
import croniter
import cronsim
import crontab
import pycron

start, end = datetime.datetime(2027, 1, 1), datetime.datetime(2028, 1, 1)


def until_end(following):
    times, time = [], start
    while (time := following(time)) < end:
        times.append(time)
    return len(times)


def with_croniter(line):
    return until_end(lambda time: croniter.croniter(line, time).get_next(datetime.datetime))


def with_cronsim(line):
    return until_end(lambda time: next(cronsim.CronSim(line, time)))


def with_pycron(line):
    hours = (start + datetime.timedelta(hours=hour) for hour in range(365 * 24))
    return sum(pycron.is_now(line, hour) for hour in hours)


def with_crontab(line):
    table = crontab.CronTab(line)
    return until_end(lambda time: table.next(time, default_utc=True, return_datetime=True).replace(tzinfo=None))


def with_converter(line):
    schedule = cron_converter.Cron(line).schedule(start)
    return until_end(lambda _: schedule.next())


for line, expected in (("0 9 1 * 1", [61, 61, 61, 3, 3]), ("0 9 * * 7", [52, 52, 0, 52, 52])):
    days = [count(line) for count in (with_croniter, with_cronsim, with_pycron, with_crontab, with_converter)]
    told = cron_descriptor.get_description(line)
    print(f"{line}: days of 2027 for croniter, cronsim, pycron, crontab, cron-converter: {days}; {told!r}")
    assert days == expected, days
assert cron_descriptor.get_description("0 9 1 * 1") == "At 09:00 AM, on day 1 of the month, or on Monday"
PYTHON
