#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# "In so many hours", in the time zone of Berlin, in the night in which summer time ends (2026-10-25) and in that in
# which it begins (2026-03-29): arrow 1.4.0 with `shift(hours=…)` moves the hands of the clock. Two hours from 01:30
# are 03:30, which are three hours; 24 hours from noon of the day before are 25; three hours from 00:30 in March are
# two. Minutes and seconds do the same. pendulum 3.3.0 and whenever 0.11.0 are right with `add(hours=…)`, as arrow is
# in UTC.
#
# It adds to the local time, as `datetime` does with a timedelta, and looks up the zone's offset afterwards.
#
# What one would guess: in a library that has zones, `shift(days=…)` keeps the time of day and `shift(hours=…)`
# is time that passes.
#
# Whoever makes "remind me in two hours" of it pushes an hour late, or early, twice a year.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: arrow==1.4.0 pendulum==3.3.0 \
  whenever==0.11.0 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import arrow
import pendulum
import whenever

zone = "Europe/Berlin"


def with_arrow(begin, unit, amount):
    at = arrow.Arrow(*begin, tzinfo=zone)
    return at.timestamp(), at.shift(**{unit: amount}).timestamp()


def with_arrow_in_utc(begin, unit, amount):
    at = arrow.Arrow(*begin, tzinfo=zone)
    return at.timestamp(), at.to("UTC").shift(**{unit: amount}).to(zone).timestamp()


def with_pendulum(begin, unit, amount):
    at = pendulum.datetime(*begin, tz=zone)
    return at.timestamp(), at.add(**{unit: amount}).timestamp()


def with_whenever(begin, unit, amount):
    at = whenever.ZonedDateTime(*begin, tz=zone)
    return at.timestamp(), at.add(**{unit: amount}).timestamp()


for begin, unit, amount, by_arrow in (
    ((2026, 10, 20, 1, 30), "hours", 2, 2),
    ((2026, 10, 25, 1, 30), "hours", 2, 3),
    ((2026, 10, 25, 1, 30), "minutes", 120, 3),
    ((2026, 10, 25, 1, 30), "seconds", 7200, 3),
    ((2026, 10, 24, 12, 0), "hours", 24, 25),
    ((2026, 3, 29, 0, 30), "hours", 3, 2),
):
    right = amount / {"hours": 1, "minutes": 60, "seconds": 3600}[unit]
    seen = []
    for way in (with_arrow, with_arrow_in_utc, with_pendulum, with_whenever):
        before, after = way(begin, unit, amount)
        seen.append((after - before) / 3600)
    print("{}-{:02}-{:02} {:02}:{:02}".format(*begin), f"and {amount} {unit}, hours that pass:", end=" ")
    print(f"arrow {seen[0]:g}, in UTC {seen[1]:g}, pendulum {seen[2]:g}, whenever {seen[3]:g}")
    assert seen == [by_arrow, right, right, right], seen
PYTHON
