#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# "2026-11-29 12:00 GMT+3" is noon three hours ahead of Greenwich, 09:00 in UTC, for dateparser 1.5.0, Node.js 20.20.2
# and `date` of GNU coreutils. So is "Sun Nov 29 2026 12:00:00 GMT+0300", as JavaScript writes a time (less the zone's
# name, which stands behind it). What python-dateutil 2.9.0.post0 and 4.0.0 make of GMT+3, and of UTC+3:
#
# - `parse` of either text: 15:00 in UTC, six hours later. pandas 2.3.3 and 3.1.1, which use it, say the same.
# - `tz.gettz("GMT+3")`: three hours ahead, as the others have it. "gmt+3" is three hours behind, as " GMT+3" is.
#
# Without the letters, as "12:00 +0300", all are ahead. It follows POSIX, where the sign is that of the way back to
# Greenwich, but for `gettz` and these two names in capitals.
#
# Guessed before it was run, of `gettz`: ahead. What one would guess of the rest: one library has one answer, and small
# letters and blanks do not turn a sign.
#
# Whoever reads times that a browser has written, or the zone that a user typed, pushes six hours off, in Moscow, and 16
# hours off in California.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "$(node --version)" = v20.20.2 ]
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: dateparser==1.5.0

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "python-dateutil==$1" "pandas==$2"
  "$folder/python/bin/python" -W ignore - <<'PYTHON'
import datetime
import importlib.metadata
import os
import subprocess

import dateparser
import dateutil.parser
import dateutil.tz
import pandas

utc = datetime.timezone.utc


def hour(time):
    return time.astimezone(utc).strftime("%H:%M")


def run(*line):
    settings = {**os.environ, "TZ": "UTC"}
    return subprocess.run(line, env=settings, capture_output=True, text=True, check=True).stdout.strip()


SCRIPT = "console.log(new Date(process.argv[1]).toISOString().slice(11, 16))"
print("python-dateutil", importlib.metadata.version("python-dateutil"), "pandas", pandas.__version__)
for text, by_dateutil in (
    ("2026-11-29 12:00 GMT+3", "15:00"),
    ("2026-11-29 12:00 UTC+3", "15:00"),
    ("Sun Nov 29 2026 12:00:00 GMT+0300", "15:00"),
    ("Sun Nov 29 2026 12:00:00 +0300", "09:00"),
):
    seen = hour(dateutil.parser.parse(text)), hour(pandas.Timestamp(text).to_pydatetime())
    others = hour(dateparser.parse(text)), run("node", "-e", SCRIPT, text), run("date", "-d", text, "+%H:%M")
    print(f"  {text}: dateutil and pandas {seen}; dateparser, Node.js and date {others}")
    assert seen == (by_dateutil,) * 2 and others == ("09:00",) * 3, (seen, others)

noon = datetime.datetime(2026, 11, 29, 12, 0)
for name, hours in (("GMT+3", 3), ("UTC+3", 3), ("gmt+3", -3), ("utc+3", -3), (" GMT+3", -3)):
    seen = dateutil.tz.gettz(name).utcoffset(noon) / datetime.timedelta(hours=1)
    print(f"  gettz({name!r}): {seen:+.0f} h")
    assert seen == hours, seen
PYTHON
}

look 2.9.0.post0 2.3.3
look 4.0.0 3.1.1
