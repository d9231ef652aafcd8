#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A reminder says how long it is until something begins, in a library's words:
#
# - Of 1 h 59 min arrow 1.4.0, `humanize`, has "in an hour", and pendulum 3.3.0, `diff_for_humans`, "1 hour". Babel
#   2.19.0, `format_timedelta`, and humanize 4.17.0, `naturaltime`, have two hours. Of two hours less a second it is the
#   same.
# - Of 47 hours arrow and humanize have a day, pendulum and Babel two days: pendulum cuts hours and rounds days.
# - Of 16 days arrow and humanize have a month, and pendulum and Babel two weeks.
#
# What one would guess: they round, as a person would, and say "in two hours" of the first.
#
# Whoever pushes "your train leaves in an hour" sends people off an hour too early, and one who has a month left for a
# bill has two weeks. A reminder for "in 2 hours" that is made a second late says "in an hour".
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: arrow==1.4.0 pendulum==3.3.0 \
  babel==2.19.0 humanize==4.17.0 tzdata==2026.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime

import arrow
import babel.dates
import humanize
import pendulum

now = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.timezone.utc)


for left, expected in (
    ({"hours": 1, "minutes": 59}, ("in an hour", "1 hour", "in 2 hours", "2 hours from now")),
    ({"hours": 2, "seconds": -1}, ("in an hour", "1 hour", "in 2 hours", "2 hours from now")),
    ({"hours": 2}, ("in 2 hours", "2 hours", "in 2 hours", "2 hours from now")),
    ({"hours": 47}, ("in a day", "2 days", "in 2 days", "a day from now")),
    ({"days": 16}, ("in a month", "2 weeks", "in 2 weeks", "a month from now")),
):
    left = datetime.timedelta(**left)
    begins = now + left
    said = (
        arrow.get(begins).humanize(arrow.get(now)),
        pendulum.instance(begins).diff_for_humans(pendulum.instance(now), absolute=True),
        babel.dates.format_timedelta(left, add_direction=True, locale="en"),
        humanize.naturaltime(begins.replace(tzinfo=None), when=now.replace(tzinfo=None)),
    )
    print(f"{left}: arrow {said[0]!r}, pendulum {said[1]!r}, Babel {said[2]!r}, humanize {said[3]!r}")
    assert said == expected, said
PYTHON
