#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A timer of systemd 252 (that of Debian 12) runs a push each day at 02:30 in Berlin, `OnCalendar=*-*-* 02:30:00
# Europe/Berlin`, of which `systemd-analyze calendar` says when it elapses. Summer time begins on 29 March 2026, when
# there is no 02:30, and ends on 25 October, when 02:30 comes twice:
#
# - It runs on 28 March, and next on the 30th: on the 29th not at all. In October it runs once on each day.
# - Each quarter of an hour, `*-*-* *:0/15:00 Europe/Berlin`, it runs without a hole in March. On 25 October it does not
#   run for 75 minutes, from 02:45 in summer time to 03:00 in winter time.
#
# cronsim 2.8, which follows Debian's cron, runs at 03:00 on the 29th, and has each quarter of an hour.
#
# Guessed before it was run: as with Debian's cron, what would be in the hour that is left out runs right after it.
#
# Whoever prunes tokens, or begins the day's campaign, in the small hours does not do so on one Sunday of the year, and
# no log says that something was left out.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
systemd-analyze --version | grep -m 1 '^systemd 252 '
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cronsim==2.8 tzdata==2026.1
TZ=UTC "$folder/python/bin/python" - <<'PYTHON'
import datetime
import re
import subprocess
import zoneinfo

import cronsim

UTC, BERLIN = zoneinfo.ZoneInfo("UTC"), zoneinfo.ZoneInfo("Europe/Berlin")


def with_systemd(expression, start, number):
    command = ["systemd-analyze", "calendar", f"--base-time={start:%Y-%m-%d %H:%M:%S} UTC", f"--iterations={number}"]
    command.append(f"{expression} Europe/Berlin")
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    moments = re.findall(r"(?:elapse|#\d+): \w+ (\S+ \S+) UTC", run.stdout)
    return [datetime.datetime.fromisoformat(moment).replace(tzinfo=UTC).astimezone(BERLIN) for moment in moments]


def with_cronsim(expression, start, number):
    runs = cronsim.CronSim(expression, start.astimezone(BERLIN))
    return [next(runs) for _ in range(number)]


def daily(read, expression, *start):
    return [f"{moment:%d. %H:%M}" for moment in read(expression, datetime.datetime(*start, 12, tzinfo=UTC), 3)]


def longest(read, expression, *start):
    """The longest pause, in minutes, of 30 hours."""
    runs = read(expression, datetime.datetime(*start, 12, tzinfo=UTC), 120)
    assert len(runs) == 120, runs
    moments = [moment.timestamp() for moment in runs]
    return max(after - before for before, after in zip(moments, moments[1:])) / 60


for read, hour, quarter, spring, pause in (
    (with_systemd, "*-*-* 02:30:00", "*-*-* *:0/15:00", ["28. 02:30", "30. 02:30", "31. 02:30"], 75),
    (with_cronsim, "30 2 * * *", "*/15 * * * *", ["28. 02:30", "29. 03:00", "30. 02:30"], 15),
):
    seen = daily(read, hour, 2026, 3, 27), daily(read, hour, 2026, 10, 23)
    pauses = longest(read, quarter, 2026, 3, 28), longest(read, quarter, 2026, 10, 24)
    print(f"{read.__name__}: {seen[0]}, {seen[1]}; the longest pauses are {pauses} minutes")
    assert seen == (spring, ["24. 02:30", "25. 02:30", "26. 02:30"]), seen
    assert pauses == (15, pause), pauses
PYTHON
