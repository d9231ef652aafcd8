#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A time to live is a text in a configuration. "05:00" is five minutes for pytimeparse 1.1.10, pytimeparse2 1.7.1,
# timelength 3.0.4 and Django 5.2.19, and five hours for pydantic 2.14.4 and tempora 5.13.0. What else they differ in
# without an error:
#
# - "5M" is five minutes for the pytimeparses, tempora and humanfriendly 10.0, and five months for timelength.
# - "PT5M", of ISO 8601, is 300 s for pydantic, Django and pandas 3.1.1. timelength has five months, and for "P1D", a
#   day, ten years: P is a decade.
# - "-5m" is 300 s above zero for tempora and timelength, and 300 s below for the pytimeparses and pandas.
# - "90" is 90 s, but for pandas, where it is 90 ns, and for pytimeparse, which returns None.
# - "1,5h" is 15 hours for pandas, five hours and a second for tempora, and nothing at all for timelength.
#
# What one would guess: two numbers and a colon are read alike, or refused, and ISO 8601's form is known to whoever
# reads it.
#
# Whoever moves a configuration from one to another keeps pushes sixty times as long, or as short.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pytimeparse==1.1.10 \
  pytimeparse2==1.7.1 timelength==3.0.4 django==5.2.19 pydantic==2.14.4 tempora==5.13.0 humanfriendly==10.0 \
  pandas==3.1.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import warnings

import django.utils.dateparse
import humanfriendly
import pandas
import pydantic
import pytimeparse
import pytimeparse2
import tempora
import timelength

warnings.simplefilter("ignore")  # pandas's, of letters it will not read in a later version
with_pydantic = pydantic.TypeAdapter(datetime.timedelta)
ways = {
    "pytimeparse": pytimeparse.parse,
    "pytimeparse2": pytimeparse2.parse,
    "timelength": lambda text: timelength.TimeLength(text).result.seconds,
    "django": lambda text: django.utils.dateparse.parse_duration(text).total_seconds(),
    "pydantic": lambda text: with_pydantic.validate_python(text).total_seconds(),
    "tempora": lambda text: tempora.parse_timedelta(text).total_seconds(),
    "humanfriendly": humanfriendly.parse_timespan,
    "pandas": lambda text: pandas.Timedelta(text).total_seconds(),
}
expected = {
    "05:00": (300, 300, 300, 300, 18000, 18000, None, None),
    "5M": (300, 300, 13176000, None, None, 300, 300, None),
    "PT5M": (None, None, 13176000, 300, 300, None, None, 300),
    "P1D": (None, None, 315360000, 86400, 86400, None, None, 86400),
    "-5m": (-300, -300, 300, None, None, 300, None, -300),
    "90": (None, 90, 90, 90, None, 90, 90, 9e-08),
    "1,5h": (None, None, 0, None, None, 18001, None, 54000),
    "1:30:00": (5400, 5400, 5400, 5400, 5400, 5400, None, 5400),
}
for text, seconds in expected.items():
    seen = []
    for way in ways.values():
        try:
            seen.append(way(text))
        except Exception:
            seen.append(None)
    print(f"{text}, in seconds:", ", ".join(f"{name} {value}" for name, value in zip(ways, seen)))
    assert tuple(seen) == seconds, seen
PYTHON
