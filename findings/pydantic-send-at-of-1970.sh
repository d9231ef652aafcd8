#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A request says `"send_at": "20261129"`, a date in ISO 8601's basic form, and the model has `send_at: datetime`.
# pydantic 2.14.4 reads 12:05:29 of 23 August 1970, in UTC, with no error. "202611291200", with a time, is in 1976, and
# "20261129120000" in the year 2612. msgspec 0.23.0 with `strict=False` has 1970, too, and 8390 for the second; the
# third is an error. "2026-11-29" is right for pydantic, and "20261129T120000Z" is an error for both. `fromisoformat` of
# Python 3.11 has 29 November 2026 for the first.
#
# Digits in quotes are seconds since 1970, and, if they are too many, milliseconds.
#
# What one would guess: text is read as ISO 8601, or refused; numbers are for those who send numbers.
#
# What was to be sent on a day to come is due at once, or in six hundred years.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pydantic==2.14.4 msgspec==0.23.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import json

import msgspec
import pydantic


class Pydantic(pydantic.BaseModel):
    send_at: datetime.datetime


class Msgspec(msgspec.Struct):
    send_at: datetime.datetime


ways = {
    "pydantic": Pydantic.model_validate_json,
    "msgspec, strict=False": lambda text: msgspec.json.decode(text, type=Msgspec, strict=False),
    "msgspec": lambda text: msgspec.json.decode(text, type=Msgspec),
}
for send_at, expected in (
    ("20261129", ("1970-08-23 12:05", "1970-08-23 12:05", "error")),
    ("202611291200", ("1976-06-03 00:54", "8390-07-01 02:13", "error")),
    ("20261129120000", ("2612-01-19 19:25", "error", "error")),
    ("20261129T120000Z", ("error", "error", "error")),
    ("2026-11-29", ("2026-11-29 00:00", "error", "error")),
    ("2026-11-29T12:00:00Z", ("2026-11-29 12:00",) * 3),
):
    seen = []
    for way in ways.values():
        try:
            seen.append(str(way(json.dumps({"send_at": send_at})).send_at)[:16])
        except (pydantic.ValidationError, msgspec.ValidationError):
            seen.append("error")
    print(f"{send_at}:", ", ".join(f"{name} {value}" for name, value in zip(ways, seen)))
    assert tuple(seen) == expected, seen
assert datetime.datetime.fromisoformat("20261129") == datetime.datetime(2026, 11, 29)
PYTHON
