#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Devices that were not seen for thirty days are to be left out of a campaign, `WHERE now() - seen > interval '30
# days'`. Of three, not seen for one, 59 and 697 days, DataFusion 55.0.0 finds
#
# - `… - seen > interval '30 days'`: none. So it is with '1 month' and '1 day', and whether times have a zone or not.
# - `… - seen < interval '30 days'`: all three.
# - `… - seen > interval '720 hours'`, and `seen < … - interval '30 days'`: the last two.
#
# DuckDB 2.0.1 finds the last two by each of 30 days and a month, and the first one with `<`.
#
# The difference has no days, only a time, and intervals are compared by months first, then days, then the time: it is
# less than a day, however long. `interval '25 hours' > interval '1 day'` is false, too.
#
# Guessed before it was run: as with PostgreSQL, whose SQL it speaks: the last two, by each of the four.
#
# Whoever cleans up so keeps every dead token, and whoever picks the active ones pushes to everybody who ever was one.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: datafusion==55.0.0 \
  pyarrow==26.0.1 duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime

import datafusion
import duckdb
import pyarrow

DAY = datetime.datetime(2026, 11, 29, 12)
seen = [DAY - datetime.timedelta(days=days) for days in (1, 59, 697)]
QUESTIONS = {
    "{now} - seen > interval '30 days'": ("", "bc"),
    "{now} - seen > interval '1 month'": ("", "bc"),
    "{now} - seen > interval '1 day'": ("", "bc"),
    "{now} - seen < interval '30 days'": ("abc", "a"),
    "{now} - seen > interval '720 hours'": ("bc", "bc"),
    "seen < {now} - interval '30 days'": ("bc", "bc"),
}
print(f"DataFusion {datafusion.__version__}, DuckDB {duckdb.__version__}:")
for zone in (None, datetime.UTC):
    column = pyarrow.array([time.replace(tzinfo=zone) for time in seen], pyarrow.timestamp("us", zone and "UTC"))
    devices = pyarrow.table({"token": ["a", "b", "c"], "seen": column})
    context = datafusion.SessionContext()
    context.from_arrow(devices, name="devices")
    database = duckdb.connect()
    now = "'2026-11-29T12:00:00Z'::timestamptz" if zone else "'2026-11-29T12:00:00'::timestamp"
    for question, expected in QUESTIONS.items():
        query = f"SELECT token FROM devices WHERE {question.format(now=now)} ORDER BY token"
        found = "".join(row["token"] for row in context.sql(query).to_pylist())
        other = "".join(token for (token,) in database.execute(query).fetchall())
        print(f"  {question.format(now='now')}, {zone or 'no zone'}: {found or 'none'}; {other}")
        assert found == expected[0] and (other == expected[1] or "1 day" in question), (found, other)
(row,) = context.sql("SELECT interval '25 hours' > interval '1 day' AS longer").to_pylist()
assert row == {"longer": False}, row
PYTHON
