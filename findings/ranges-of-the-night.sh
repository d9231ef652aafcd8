#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# No pushes in the night, from 22:00 to 06:00, which is written as a range of two times. Is 23:00 in it, is 03:00?
#
# - portion 2.6.3, `closedopen(time(22), time(6))`: no, and no. The range is empty, and what is not in it, `~night`, is
#   all day.
# - psycopg 3.3.9 and psycopg2 2.9.13, `Range(time(22), time(6))`, the range of PostgreSQL in Python: no, and no. It
#   does not say that it is empty: `isempty` is False.
# - pandas 3.1.1, `Interval(22, 6)`: an error, as PostgreSQL has for such a range.
#
# Guessed before it was run: an error by all, as the first bound is above the second.
#
# Whoever keeps the night so pushes all night, and finds the setting in its place.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: portion==2.6.3 psycopg==3.3.9 \
  psycopg-binary==3.3.9 psycopg2-binary==2.9.13 pandas==3.1.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import pandas
import portion
from psycopg.types.range import Range
from psycopg2.extras import Range as Range2

EVENING, MORNING = datetime.time(22), datetime.time(6)
nights = {
    "portion": portion.closedopen(EVENING, MORNING),
    "psycopg": Range(EVENING, MORNING),
    "psycopg2-binary": Range2(EVENING, MORNING),
}
for name, night in nights.items():
    seen = [datetime.time(hour) in night for hour in (23, 3, 12)]
    print(f"{name} {importlib.metadata.version(name)}: {night}, at 23, 3 and 12: {seen}")
    assert seen == [False, False, False], seen
assert nights["portion"].empty and datetime.time(23) in ~nights["portion"]
assert not nights["psycopg"].isempty and not nights["psycopg2-binary"].isempty
try:
    raise SystemExit(f"pandas {pandas.__version__}: {pandas.Interval(22, 6)}")
except ValueError as error:
    print(f"pandas {pandas.__version__}: {error}")
PYTHON
