#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Three forms of a time of day that ISO 8601 has, and few write: 24:00:00 is the end of the day, 12.5 is half past
# twelve, and 12:00.5 is half a minute past noon. What parsers make of them:
#
# - aniso8601 9.0.1 and 10.0.1: 2026-11-29T24:00:00Z is 00:00 of the same day, a day too early. It is right in
#   fractions.
# - `datetime.fromisoformat` of Python 3.11.7: 12.5 and 12:00.5 are both 12:00:00.5, half an hour or half a minute too
#   early. It refuses 24:00:00.
# - arrow 1.4.0, `isoparse` of python-dateutil 2.9.0.post0, pendulum 3.3.0 and isodate 0.7.2 are right, or refuse.
#
# What one would guess: a parser knows such a form and is right, or does not know it and refuses it.
#
# Whoever has "until the end of Sunday" as 24:00 in an export has pushes that expired a day before they were sent.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: arrow==1.4.0 pendulum==3.3.0 \
  python-dateutil==2.9.0.post0 isodate==0.7.2

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "aniso8601==$1"
  "$folder/python/bin/python" - "$1" <<'PYTHON'
import datetime
import sys

import aniso8601
import arrow
import dateutil.parser
import isodate
import pendulum

assert sys.version_info[:2] == (3, 11), sys.version
parsers = {
    f"aniso8601 {sys.argv[1]}": aniso8601.parse_datetime,
    "fromisoformat": datetime.datetime.fromisoformat,
    "arrow": lambda text: arrow.get(text).datetime,
    "isoparse": dateutil.parser.isoparse,
    "pendulum": pendulum.parse,
    "isodate": isodate.parse_datetime,
}


def parse(parser, text):
    try:
        return parser(text).astimezone(datetime.timezone.utc).strftime("%d. %H:%M:%S.%f")[:-5]
    except ValueError:
        return "refused"


for text, right, expected in (
    ("2026-11-29T12:00:00Z", "29. 12:00:00.0", ["29. 12:00:00.0"] * 6),
    ("2026-11-29T24:00:00Z", "30. 00:00:00.0", ["29. 00:00:00.0", "refused", "right", "right", "refused", "refused"]),
    ("2026-11-29T12.5Z", "29. 12:30:00.0", ["right", "29. 12:00:00.5", "refused", "refused", "refused", "right"]),
    ("2026-11-29T12:00.5Z", "29. 12:00:30.0", ["right", "29. 12:00:00.5", "refused", "refused", "refused", "right"]),
):
    seen = {name: parse(parser, text) for name, parser in parsers.items()}
    print(f"{text}:", "; ".join(f"{name} {said}" for name, said in seen.items()))
    assert list(seen.values()) == [right if said == "right" else said for said in expected], seen
PYTHON
}

look 9.0.1
look 10.0.1
