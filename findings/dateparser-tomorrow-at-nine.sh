#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What a person writes who wants to be reminded, at noon of Sunday, 29 November 2026, read with dateparser 1.5.0
# (PREFER_DATES_FROM "future", English) and parsedatetime 2.6, both of which have no error and no warning:
#
# - "tomorrow at 18": tomorrow at 12:00 for dateparser, which is the time that it is now; at 09:00 for parsedatetime.
# - "friday at 9": 29 September 2027 for dateparser; Friday at 12:00 for parsedatetime.
# - "monday at 18": 18 November for dateparser, which is in the past; Monday at 12:00 for parsedatetime.
# - "tomorrow at 9.30": tomorrow at 12:00 for dateparser; 1 October 2027 for parsedatetime.
#
# With ":00", and "am" or "pm", they have all of these right.
#
# dateparser takes a number that stands alone for a day or a month, and leaves it out beside a word such as "tomorrow".
#
# What one would guess: an hour is an hour after "at", or the text is refused.
#
# Whoever makes `send_at` of what users type sends at noon, or in ten months, what was to come at nine.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: dateparser==1.5.0 parsedatetime==2.6
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import datetime

import dateparser
import parsedatetime

now = datetime.datetime(2026, 11, 29, 12, 0)
settings = {"RELATIVE_BASE": now, "PREFER_DATES_FROM": "future"}
calendar = parsedatetime.Calendar()
for text, by_dateparser, by_parsedatetime in (
    ("tomorrow at 18", "2026-11-30 12:00", "2026-11-30 09:00"),
    ("tomorrow at 18:00", "2026-11-30 18:00", "2026-11-30 18:00"),
    ("tomorrow at 6 pm", "2026-11-30 18:00", "2026-11-30 18:00"),
    ("friday at 9", "2027-09-29 00:00", "2026-12-04 12:00"),
    ("friday at 9:00", "2026-12-04 09:00", "2026-12-04 09:00"),
    ("friday at 9 am", "2026-12-04 09:00", "2026-12-04 09:00"),
    ("monday at 18", "2026-11-18 00:00", "2026-11-30 12:00"),
    ("monday at 18:00", "2026-11-30 18:00", "2026-11-30 18:00"),
    ("tomorrow at 9.30", "2026-11-30 12:00", "2027-10-01 09:00"),
    ("tomorrow at 9:30", "2026-11-30 09:30", "2026-11-30 09:30"),
):
    times = dateparser.parse(text, languages=["en"], settings=settings), calendar.parseDT(text, now)[0]
    seen = tuple(time.strftime("%Y-%m-%d %H:%M") for time in times)
    print(f"{text}: dateparser {seen[0]}, parsedatetime {seen[1]}")
    assert seen == (by_dateparser, by_parsedatetime), seen
PYTHON
