#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# isoduration 20.11.0 reads PT1.5H as it is, hours=1.5. Added to a datetime it is two hours. A part of the duration is
# rounded to a whole number: PT0.25H is nothing, P0.5D is a day, PT0.5M is a minute, PT1.5S is two seconds, and P1.5W
# is eleven days. isodate 0.7.2, aniso8601 10.0.1 and pendulum 3.3.0 have 90 minutes, 15 minutes, twelve hours, 30 s,
# 1.5 s and ten days and a half.
#
# jsonschema has it to check the format `duration`, for which all of these are valid.
#
# Guessed before it was run: libraries refuse a fraction or are right about it; ISO 8601 allows it in the last part.
#
# Whoever has "PT1.5H" as the time to live of a push keeps it for two hours, and for none with PT0.25H.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: isoduration==20.11.0 \
  isodate==0.7.2 aniso8601==10.0.1 pendulum==3.3.0
"$folder/python/bin/python" - <<'PYTHON'
from datetime import datetime, timedelta, timezone

import aniso8601
import isodate
import isoduration
import pendulum

noon = datetime(2026, 11, 29, 12, 0, tzinfo=timezone.utc)
others = {
    "isodate": lambda text: noon + isodate.parse_duration(text) - noon,
    "aniso8601": aniso8601.parse_duration,
    "pendulum": lambda text: noon + pendulum.parse(text).as_timedelta() - noon,
}
for text, by_isoduration, by_others in (
    ("PT1.5H", timedelta(hours=2), timedelta(minutes=90)),
    ("PT0.25H", timedelta(0), timedelta(minutes=15)),
    ("P0.5D", timedelta(days=1), timedelta(hours=12)),
    ("PT0.5M", timedelta(minutes=1), timedelta(seconds=30)),
    ("PT1.5S", timedelta(seconds=2), timedelta(seconds=1.5)),
    ("P1.5W", timedelta(days=11), timedelta(days=10.5)),
    ("PT90M", timedelta(minutes=90), timedelta(minutes=90)),
):
    read = isoduration.parse_duration(text)
    seen = noon + read - noon
    rest = {name: reader(text) for name, reader in others.items()}
    print(f"{text}: isoduration reads {read} and adds {seen}; others:", *(f"{n} {d};" for n, d in rest.items()))
    assert seen == by_isoduration and set(rest.values()) == {by_others}, (seen, rest)
PYTHON
