#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# How often croniter 7.0.0 and cronsim 2.8 fire in 2027. If day of month and day of week are both restricted, either
# is enough, for both. They differ in what is a restriction:
#
# - `0 9 1 * *` is 12 times for both. `0 9 1 * */1` is 365 times for croniter: `*/1` restricts. For cronsim it is 12
#   times: what begins with a star does not, as in Debian's cron.
# - `0 9 */2 * 1` is each odd day and each Monday for croniter, 211 days; for cronsim each Monday with an odd number,
#   27.
# - Of six fields, the seconds are the last for croniter and the first for cronsim: `0 0 9 * * *` is 09:00 of each day
#   for cronsim. For croniter it is each second of the first minute of the 9th of each month: 720 times.
#
# What one would guess: `*/1` is `*`, and two libraries that read crontabs of Unix agree on what is no extension;
# of six fields, one refuses what the other takes.
#
# Whoever moves schedules from one to the other may push each day what was meant for each month.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: croniter==7.0.0 cronsim==2.8
"$folder/python/bin/python" - <<'PYTHON'
import itertools
from datetime import datetime, timedelta, timezone

import croniter
import cronsim

begin, end = datetime(2027, 1, 1, tzinfo=timezone.utc), datetime(2028, 1, 1, tzinfo=timezone.utc)
just_before = begin - timedelta(seconds=1)


def with_croniter(expression):
    fires = croniter.croniter(expression, just_before).all_next(datetime)
    return list(itertools.takewhile(lambda time: time < end, fires))


def with_cronsim(expression):
    return list(itertools.takewhile(lambda time: time < end, cronsim.CronSim(expression, just_before)))


for expression, expected in (
    ("0 9 1 * *", (12, 12)),
    ("0 9 1 * */1", (365, 12)),
    ("0 9 * * 1", (52, 52)),
    ("0 9 */1 * 1", (365, 52)),
    ("0 9 */2 * 1", (211, 27)),
    ("0 9 1-31/2 * 1", (211, 211)),
    ("0 0 9 * * *", (720, 365)),
):
    fires = with_croniter(expression), with_cronsim(expression)
    seen = tuple(map(len, fires))
    third = [str(times[2])[5:19] for times in fires]
    print(f"{expression}: croniter {seen[0]} times, the third {third[0]}; cronsim {seen[1]}, the third {third[1]}")
    assert seen == expected, seen
PYTHON
