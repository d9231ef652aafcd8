#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A test in a process in Berlin is run as if it were noon in UTC, 29 November 2026, when it is 13:00 in Berlin. With
# `freeze_time("2026-11-29 12:00:00")` of freezegun 1.5.5
#
# - `datetime.now()` is 12:00, and `datetime.now().timestamp()` is noon in UTC.
# - `time.localtime()` and `time.strftime("%H:%M")` are 13:00; so is `datetime.now(ZoneInfo("Europe/Berlin"))`.
# - `datetime.now().astimezone(UTC)` is 11:00, an hour before `datetime.now(UTC)`.
#
# With `travel` of time-machine 3.6.0 to the same moment, and without either, all of them agree: 13:00, and 12:00 in
# UTC.
#
# Guessed before it was run: one moment, of which each function gives its own form; freezegun sets a zone by
# `tz_offset`.
#
# Whoever tests so what is sent at a local time, from code that asks `datetime` in one place and `time` in another,
# tests hours that no process has, and finds no naive time that is off.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: freezegun==1.5.5 \
  time-machine==3.6.0 tzdata==2026.6
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import os
import time
import zoneinfo

import freezegun
import time_machine

os.environ["TZ"] = "Europe/Berlin"
time.tzset()
NOON = datetime.datetime(2026, 11, 29, 12, tzinfo=datetime.UTC)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def looks():
    now = datetime.datetime.now()
    assert time.time() == now.timestamp() == NOON.timestamp()
    return {
        "datetime.now()": f"{now:%H:%M}",
        "localtime": time.strftime("%H:%M", time.localtime()),
        "strftime": time.strftime("%H:%M"),
        "now in Berlin": f"{datetime.datetime.now(BERLIN):%H:%M}",
        "now in UTC": f"{datetime.datetime.now(datetime.UTC):%H:%M}",
        "now(), then to UTC": f"{now.astimezone(datetime.UTC):%H:%M}",
    }


with freezegun.freeze_time("2026-11-29 12:00:00"):
    frozen = looks()
with time_machine.travel(NOON.timestamp(), tick=False):
    travelled = looks()
print(f"freezegun {importlib.metadata.version('freezegun')}: {frozen}")
print(f"time-machine {importlib.metadata.version('time-machine')}: {travelled}")
assert list(frozen.values()) == ["12:00", "13:00", "13:00", "13:00", "12:00", "11:00"], frozen
assert list(travelled.values()) == ["13:00", "13:00", "13:00", "13:00", "12:00", "12:00"], travelled
PYTHON
