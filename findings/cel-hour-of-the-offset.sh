#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A rule in CEL holds pushes back in the night, `event.at.getHours() < 8`, where the hour is in UTC, as the language has
# it for each function without a zone. The time comes with an offset: timestamp("2026-11-29T12:00:00+05:30"), which is
# 06:30 in UTC. The hour is
#
# - 6 for cel-python 0.5.0;
# - 12 for common-expression-language 0.10.0. Of "2026-11-29T06:30:00Z", the same moment, which it holds for equal, it
#   is 6. The day of the month is another, too, of "2026-11-30T02:00:00+05:30": the 30th, and the 29th.
#
# With the name of a zone, getHours("Asia/Kolkata"), cel-python has 12, and the other says that there is no such
# function.
#
# Guessed before it was run: what is equal has one hour, and two libraries of one language agree on it.
#
# Whoever holds rules for two services, one with either library, holds a push back in one that the other sends, and who
# changes how a time is written changes who is woken.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cel-python==0.5.0 \
  common-expression-language==0.10.0 tzdata==2026.1
TZ=UTC "$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import cel
import celpy


def with_cel_python(rule):
    environment = celpy.Environment()
    return environment.program(environment.compile(rule)).evaluate({})


OFFSET, UTC = 'timestamp("2026-11-29T12:00:00+05:30")', 'timestamp("2026-11-29T06:30:00Z")'
NIGHT = 'timestamp("2026-11-30T02:00:00+05:30")'
RULES = [f"{OFFSET}.getHours()", f"{UTC}.getHours()", f"{NIGHT}.getDate()", f"{OFFSET} == {UTC}"]
for name, evaluate, expected in (
    ("cel-python", with_cel_python, [6, 6, 29, True]),
    ("common-expression-language", cel.evaluate, [12, 6, 30, True]),
):
    seen = [evaluate(rule) for rule in RULES]
    print(f"{name} {importlib.metadata.version(name)}: {seen}")
    assert seen == expected, seen
zoned = f'{OFFSET}.getHours("Asia/Kolkata")'
assert with_cel_python(zoned) == 12
try:
    cel.evaluate(zoned)
except RuntimeError as error:
    assert "getHours" in str(error), error
else:
    raise AssertionError("it has the function with a zone")
PYTHON
