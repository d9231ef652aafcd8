#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `isoparse` of python-dateutil 2.9.0.post0 reads a time without T, as YYYYMMDDhhmmss is written in many exports, a
# digit off: 20261129123456 is 23:45:06, and 20261129103000 is 03:00. It raises an error only if what it gets so is no
# time, as for 20261129093000. `parse` of the same library is right. python-dateutil 4.0.0, and `fromisoformat` of
# Python 3.11.7, refuse.
#
# Any one character may stand between date and time for it, here a digit of the hour, and what is left is "23456".
#
# What one would guess: a form that it does not know is refused, since it is the strict one of the two functions.
#
# Of the 1,440 full minutes of a day it reads 1 right and 290 wrong. Whoever takes times of sending from an export
# with it, and skips the rows with errors, sends the others at another hour.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "python-dateutil==$1"
  "$folder/python/bin/python" - "$1" <<'PYTHON'
import collections
import datetime
import sys

import dateutil.parser

assert sys.version_info[:2] == (3, 11), sys.version


def read(function, text):
    try:
        return str(function(text))[11:]
    except ValueError:
        return "refused"


shifted = sys.argv[1] == "2.9.0.post0"
print(f"python-dateutil {sys.argv[1]}")
for text, right, shown in (
    ("20261129T123456", "12:34:56", "12:34:56"),
    ("20261129123456", "12:34:56", "23:45:06"),
    ("20261129103000", "10:30:00", "03:00:00"),
    ("20261129093000", "09:30:00", "refused"),
    ("202611291200", "12:00:00", "20:00:00"),
):
    said = {
        "isoparse": read(dateutil.parser.isoparse, text),
        "parse": read(dateutil.parser.parse, text),
        "fromisoformat": read(datetime.datetime.fromisoformat, text),
    }
    print(f"  {text}: {said}")
    whole = "T" in text
    assert said["isoparse"] == (shown if shifted or whole else "refused"), said
    assert said["parse"] == right and said["fromisoformat"] == (right if whole else "refused"), said

counts = collections.Counter()
for minute in range(24 * 60):
    right = f"{minute // 60:02}:{minute % 60:02}:00"
    said = read(dateutil.parser.isoparse, "20261129" + right.replace(":", ""))
    counts["refused" if said == "refused" else "right" if said == right else "another time"] += 1
print(f"  of the minutes of a day: {dict(counts)}")
assert dict(counts) == ({"right": 1, "another time": 290, "refused": 1149} if shifted else {"refused": 1440}), counts
PYTHON
}

look 2.9.0.post0
look 4.0.0
