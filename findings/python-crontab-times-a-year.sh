#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# How often `0 9 1 * 1` runs in 2027, at 09:00 of the first of a month and of each Monday: python-crontab 3.4.0 says 3,
# with `frequency(year=2027)`. The job's own `schedule()` goes through 61 times of that year, as cron does: if both days
# are restricted, either is enough. `0 9 15 * FRI` is 2 by the first and 63 by the second.
#
# `frequency` counts the days that are in both. `schedule` leaves it to croniter, here 7.0.0.
#
# What one would guess: two methods of one object that is made of one line speak of the same times.
#
# Whoever multiplies that by the number of devices, to ask for room or for a rate, asks for a twentieth of it.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: python-crontab==3.4.0 \
  croniter==7.0.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime

import crontab

begin = datetime.datetime(2026, 12, 31, 23, 59)
for line, expected in (
    ("0 9 1 * 1", (3, 61)),
    ("0 9 15 * FRI", (2, 63)),
    ("0 9 1-7 * 1", (12, 124)),
    ("0 9 1 * *", (12, 12)),
    ("0 9 * * 1", (52, 52)),
):
    job = crontab.CronTab(tab="").new(command="push")
    job.setall(line)
    schedule = job.schedule(begin)
    times = 0
    while schedule.get_next().year == 2027:
        times += 1
    seen = job.frequency(year=2027), times
    print(f"{line}: frequency {seen[0]}, schedule {seen[1]} in 2027")
    assert seen == expected, seen
PYTHON
