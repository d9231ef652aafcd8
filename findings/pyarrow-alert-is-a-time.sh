#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests for pushes, one JSON object a line, are read with pyarrow 26.0.1, `pyarrow.json.read_json`. If all texts of a
# column are dates, or times without fractions, the column is of times: an alert of "2026-11-29" is midnight, and comes
# out as "2026-11-29 00:00:00". "2026-11-30T09:00:00+05:30" is 03:30, without an offset and without a zone, as is
# "2026-11-30T03:30:00Z", and "2026-11-30T03:30" which has neither. With one other text among them, "See you", or one
# time with a fraction of a second, all stay as they were. So it is with pandas 3.1.1 and `engine="pyarrow"`. polars
# 2.1.0 and pandas without it leave them texts.
#
# It infers types from values, and takes an offset into account, but has no type in which it would be kept.
#
# What one would guess: JSON has texts, and these stay texts; of what is read as a time the zone is not lost.
#
# A day's log is read with times and the next day's with texts, by what is in it; and what was at 09:00 for a user is
# at 03:30 of no zone.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyarrow==26.0.1 pandas==3.1.1 \
  polars==2.1.0
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import json
import sys

import pandas
import polars
import pyarrow.json

path = f"{sys.argv[1]}/requests.jsonl"
offset, utc, neither = "2026-11-30T09:00:00+05:30", "2026-11-30T03:30:00Z", "2026-11-30T03:30"
ways = {
    "pyarrow": lambda: pyarrow.json.read_json(path)["alert"].to_pylist(),
    "pandas, pyarrow": lambda: pandas.read_json(path, lines=True, engine="pyarrow")["alert"].tolist(),
    "pandas": lambda: pandas.read_json(path, lines=True)["alert"].tolist(),
    "polars": lambda: polars.read_ndjson(path)["alert"].to_list(),
}
for alerts, of_pyarrow in (
    (["2026-11-29"], ["2026-11-29 00:00:00"]),
    ([offset, utc, neither], ["2026-11-30 03:30:00"] * 3),
    (["2026-11-29", "See you"], ["2026-11-29", "See you"]),
    ([utc, "2026-11-30T03:30:00.5Z"], [utc, "2026-11-30T03:30:00.5Z"]),
):
    with open(path, "w") as file:
        file.writelines(json.dumps({"alert": alert}) + "\n" for alert in alerts)
    print(alerts)
    for name, read in ways.items():
        seen = [str(alert) for alert in read()]
        print(f"  {name}: {seen}")
        assert seen == (of_pyarrow if "pyarrow" in name else alerts), seen
PYTHON
