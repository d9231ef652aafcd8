#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is to come a day later, at the same place in a series, in Berlin: `at + pandas.offsets.Day(1)`. From noon of
# 24 October 2026, in the night after which summer time ends, pandas 2.3.3 goes 24 hours on, to 11:00; pandas 3.1.1 goes
# to noon, which is 25 hours. So do a Series and `shift(1, freq="D")`. `Timedelta(days=1)` is 24 hours in both, and no
# longer equal to `Day(1)`.
#
# From 02:30 of 28 March pandas 2 goes to 03:30 of the 29th, as 02:30 is not on that day's clock. pandas 3 raises a
# ValueError. So it does from 02:30 of 24 October, to a 02:30 that comes twice, where pandas 2 took the first. With
# `DateOffset(days=1)`, which goes to noon in both, it is the other way round: pandas 2 raises errors, and pandas 3
# takes the first in October, and in March has 02:30, the time that is not.
#
# What one would guess: an offset with a name and a number is what it was, in one way or the other, and to add a day to
# a valid time is no error.
#
# Two nights in a year a job that has worked for years ends with an error; on the days before, its pushes are an hour
# from where they were.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "pandas==$1" numpy==2.3.5 \
    tzdata==2026.1
  "$folder/python/bin/python" - <<'PYTHON'
import pandas


def at(text):
    return pandas.Timestamp(text, tz="Europe/Berlin")


def said(call):
    try:
        return str(call())[:16]
    except Exception as error:  # that of pytz is none of ValueError's
        return type(error).__name__


noon, day = at("2026-10-24 12:00"), pandas.offsets.Day(1)
seen = {
    "Day(1)": said(lambda: noon + day),
    "a Series": said(lambda: (pandas.Series([noon]) + day)[0]),
    "shift": said(lambda: pandas.DatetimeIndex([noon]).shift(1, freq="D")[0]),
    "DateOffset(days=1)": said(lambda: noon + pandas.DateOffset(days=1)),
    "Timedelta(days=1)": said(lambda: noon + pandas.Timedelta(days=1)),
    "equal": str(day == pandas.Timedelta(days=1)),
    "02:30 in March": said(lambda: at("2026-03-28 02:30") + day),
    "02:30 in October": said(lambda: at("2026-10-24 02:30") + day),
    "in March, DateOffset": said(lambda: at("2026-03-28 02:30") + pandas.DateOffset(days=1)),
    "in October, DateOffset": said(lambda: at("2026-10-24 02:30") + pandas.DateOffset(days=1)),
}
print("pandas", pandas.__version__, seen)
eleven, twelve = "2026-10-25 11:00", "2026-10-25 12:00"
if pandas.__version__ == "2.3.3":
    expected = [eleven, eleven, eleven, twelve, eleven, "True", "2026-03-29 03:30", "2026-10-25 02:30"]
    expected += ["NonExistentTimeError", "AmbiguousTimeError"]
else:
    expected = [twelve, twelve, twelve, twelve, eleven, "False", "ValueError", "ValueError"]
    expected += ["2026-03-29 02:30", "2026-10-25 02:30"]
assert list(seen.values()) == expected, seen
PYTHON
}

look 2.3.3
look 3.1.1
