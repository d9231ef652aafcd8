#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A time with an offset, "2026-11-29T12:00:00+0530", which is 06:30 in UTC, is read in jq with
# `strptime("%Y-%m-%dT%H:%M:%S%z") | mktime`. It is 12:00 in UTC for jq 1.6 (that of Debian 12) and for jq 1.8.2 (in the
# package jq 1.13.0 of PyPI). The offset is read, as a text without one is refused, and then left away: +0530, -0800 and
# +0000 all give the same second. `date` of GNU coreutils and Python's `strptime`, with the same format, have 06:30.
#
# The array that `strptime` returns has eight numbers, and the offset is none of them.
#
# Guessed before it was run: `%z` counts, or it is refused.
#
# Whoever makes `send_at`, in seconds, of the times in an export pushes by as much too early or late as the user is away
# from UTC; a test with times in UTC finds nothing.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "$(jq --version)" = jq-1.6 ]
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jq==1.13.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import json
import subprocess

import jq

FORM = "%Y-%m-%dT%H:%M:%S%z"
PROGRAM = f'strptime("{FORM}") | mktime'


def run(line, text):
    done = subprocess.run(line, input=text, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else "an error"


def with_package(text):
    try:
        return jq.compile(PROGRAM).input_value(text).first()
    except ValueError:
        return "an error"


def with_python(text):
    try:
        return int(datetime.datetime.strptime(text, FORM).timestamp())
    except ValueError:
        return "an error"


noon = 1795953600  # 2026-11-29T12:00:00Z
for text, hours in (
    ("2026-11-29T12:00:00+0000", 0),
    ("2026-11-29T12:00:00+0530", 5.5),
    ("2026-11-29T12:00:00+05:30", 5.5),
    ("2026-11-29T12:00:00-0800", -8),
    ("2026-11-29T12:00:00", None),
):
    seen = run(["jq", PROGRAM], json.dumps(text)), with_package(text)
    others = with_python(text), run(["date", "-d", text, "+%s"], "") if hours is not None else "an error"
    print(f"{text}: jq 1.6 {seen[0]}, jq of PyPI {seen[1]}; Python and date {others}")
    right = "an error" if hours is None else noon - hours * 3600
    assert seen == (("an error",) * 2 if hours is None else (noon,) * 2) and others == (right,) * 2, (seen, others)
PYTHON
