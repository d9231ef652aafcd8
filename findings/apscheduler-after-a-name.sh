#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# APScheduler 3.10.4 and 3.11.3 read the name of a weekday or month in a cron expression, and pass over what stands
# behind it, without an error: `mon#1`, the first Monday of a month, is each Monday; `mon-fri/2` is Monday to Friday;
# `jan-dec/3`, of which the same in digits is four months of a year, is twelve. With digits it takes the steps and
# refuses `#`. croniter 7.0.0 takes all of them as they are meant.
#
# The patterns for names end without a mark of the end, so a match of the beginning is enough.
#
# What one would guess: what is not supported is refused with ValueError, as it is behind a digit.
#
# Whoever has a monthly or quarterly push in a table of crontabs sends it each week or month.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: croniter==7.0.0 tzlocal==5.4.5

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "apscheduler==$1"
  "$folder/python/bin/python" - <<'PYTHON'
from datetime import datetime, timedelta, timezone

import apscheduler
import croniter
from apscheduler.triggers.cron import CronTrigger

begin, end = datetime(2027, 1, 1, tzinfo=timezone.utc), datetime(2028, 1, 1, tzinfo=timezone.utc)


def with_apscheduler(expression):
    trigger = CronTrigger.from_crontab(expression, timezone=timezone.utc)
    now, times = begin, 0
    while (fires := trigger.get_next_fire_time(None, now)) < end:
        times += 1
        now = fires + timedelta(seconds=1)
    return times


def with_croniter(expression):
    times = 0
    for fires in croniter.croniter(expression, begin - timedelta(seconds=1)).all_next(datetime):
        if fires >= end:
            return times
        times += 1


def of(function, expression):
    try:
        return function(expression)
    except ValueError as error:
        return type(error).__name__


print(f"APScheduler {apscheduler.__version__}: times in 2027")
for expression, expected in (
    ("0 9 * * mon", (52, 52)),
    ("0 9 * * mon#1", (52, 12)),
    ("0 9 * * mon-fri", (261, 261)),
    ("0 9 * * mon-fri/2", (261, 157)),
    ("0 9 1 jan-dec/3 *", (12, 4)),
    ("0 9 1 1-12/3 *", (4, 4)),
    ("0 9 * * 0#1", ("ValueError", 12)),
):
    seen = of(with_apscheduler, expression), of(with_croniter, expression)
    print(f"  {expression}: APScheduler {seen[0]}, croniter {seen[1]}")
    assert seen == expected, seen
PYTHON
}

look 3.10.4
look 3.11.3
