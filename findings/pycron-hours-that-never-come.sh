#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pycron 3.3.0 is asked each quarter of an hour for four weeks whether a push is due, `is_now(expression, moment)`:
#
# - `0 22-6 * * *`, the hours of the night: never. `0 9 25-5 * *`, the days around the first, and `0 9 * 11-2 *`, the
#   winter: never. There is no error.
# - `0 9 * * 7`: never. `0 9 * * 0` and `0 9 * * sun` are each Sunday.
# - `0 9 * * fri-sun` and `0 9 * * 5-7`: each Friday and Saturday. `0 9 * * 6,7`: each Saturday.
#
# celery 5.7.0 has the nine hours for 22-6, and so has croniter 7.0.0, which has the winter and each Sunday for 7, too.
# cronsim 2.8 says "Bad hour", and has each Sunday for 7.
#
# Guessed before it was run: a range over midnight goes on there, or is refused; Sunday is 0 and 7, as in each crontab.
#
# Whoever takes a crontab over to a process that asks pycron has pushes that never go out, and looks for the fault where
# they are sent.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pycron==3.3.0 celery==5.7.0 \
  croniter==7.0.0 cronsim==2.8
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import celery.schedules
import croniter
import cronsim
import pycron

START = datetime.datetime(2026, 11, 16)
MOMENTS = [START + datetime.timedelta(minutes=15 * number) for number in range(4 * 24 * 28)]
NIGHT = {22, 23, 0, 1, 2, 3, 4, 5, 6}


def due(expression):
    return [moment for moment in MOMENTS if pycron.is_now(expression, moment)]


def weekdays(expression):
    return sorted({f"{moment:%a}" for moment in due(expression)})


print(f"pycron {importlib.metadata.version('pycron')}:")
for expression in ("0 22-6 * * *", "0 9 25-5 * *", "0 9 * 11-2 *", "0 9 * * 7"):
    print(f"  {expression}: {len(due(expression))} times")
    assert due(expression) == []
for expression, days in (
    ("0 9 * * 0", ["Sun"]),
    ("0 9 * * sun", ["Sun"]),
    ("0 9 * * fri-sun", ["Fri", "Sat"]),
    ("0 9 * * 5-7", ["Fri", "Sat"]),
    ("0 9 * * 6,7", ["Sat"]),
):
    print(f"  {expression}: {weekdays(expression)}")
    assert weekdays(expression) == days and len(due(expression)) == 4 * len(days)

assert set(celery.schedules.crontab_parser(24).parse("22-6")) == NIGHT


def first(expression, number):
    runs = croniter.croniter(expression, START, ret_type=datetime.datetime)
    return [runs.get_next() for _ in range(number)]


assert {moment.hour for moment in first("0 22-6 * * *", 60)} == NIGHT
assert {moment.month for moment in first("0 9 * 11-2 *", 300)} == {11, 12, 1, 2}
assert {f"{moment:%a}" for moment in first("0 9 * * 7", 9)} == {"Sun"}
assert f"{next(cronsim.CronSim('0 9 * * 7', START)):%a}" == "Sun"
try:
    cronsim.CronSim("0 22-6 * * *", START)
    raise SystemExit("cronsim takes 22-6")
except cronsim.CronSimError as error:
    print(f"  cronsim: {error}")
    assert str(error) == "Bad hour"
PYTHON
