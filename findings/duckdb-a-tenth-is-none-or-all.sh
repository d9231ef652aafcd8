#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A test audience is picked with SQL from a table of 1,000 devices, of which 100 are of iOS, with DuckDB 1.1.3 and
# 2.0.1:
#
# - `FROM devices USING SAMPLE 10%`: no device, or all 1,000, and nothing else. Of a thousand tries, about a hundred
#   have all. `TABLESAMPLE 10%` is the same. With `10% (bernoulli)` it is 100, more or less.
# - `FROM devices WHERE platform = 'ios' USING SAMPLE 50 ROWS`: about five devices, and not 50. The sample is of the
#   table, and what it is to be of comes afterwards, though it is written first. Of a subquery with the WHERE it is 50.
#
# A percentage is of blocks of 2,048 rows, each of which is taken or left; a smaller table is one block.
#
# Guessed before it was run: about 100, and 50 of iOS.
#
# Whoever tries a push on a tenth of few users sends it to nobody, or to all. A tenth of ten million is right.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "duckdb==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import collections

import duckdb

database = duckdb.connect()
database.execute("""
CREATE TABLE devices AS
SELECT md5(number::text) AS token, CASE WHEN number % 10 = 0 THEN 'ios' ELSE 'android' END AS platform
FROM range(1000) AS numbers(number)
""")


def sizes(query, tries):
    return collections.Counter(len(database.execute(query).fetchall()) for _ in range(tries))


print("DuckDB", duckdb.__version__)
for query in ("FROM devices USING SAMPLE 10%", "FROM devices TABLESAMPLE 10%"):
    seen = sizes(query, 1000)
    print(f"  {query}: {dict(seen)}")
    assert set(seen) == {0, 1000} and 40 < seen[1000] < 200, seen
seen = sizes("FROM devices USING SAMPLE 10% (bernoulli)", 100)
assert min(seen) > 40 and max(seen) < 180, seen
seen = sizes("FROM devices WHERE platform = 'ios' USING SAMPLE 50 ROWS", 100)
print(f"  50 rows of iOS: {min(seen)} to {max(seen)}")
assert max(seen) < 30 and sum(size * times for size, times in seen.items()) < 1000, seen
seen = sizes("FROM (FROM devices WHERE platform = 'ios') USING SAMPLE 50 ROWS", 20)
assert seen == {50: 20}, seen
PYTHON
}

look 1.1.3
look 2.0.1
