#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# How many bytes a campaign sends: `SELECT devices * bytes`, of 600,000 devices and 4,096 bytes, both in columns of 32
# bits (as INT is). DataFusion 55.0.0 says -1,837,367,296, and `sum(devices * bytes)` of it and another campaign of one
# device is -1,837,363,200; no error. With the number written out, `devices * 4096`, it is 2,457,600,000. `cast(300 AS
# smallint) * cast(300 AS smallint)` is 24,464.
#
# DuckDB 2.0.1 raises an error for the sum and for the last; pyarrow 26.0.1 has `multiply`, which wraps, and
# `multiply_checked`, which raises one.
#
# Guessed before it was run: an error, as PostgreSQL has, or 64 bits, as for the number that is written out.
#
# Whoever limits what is sent in an hour by such a sum has the largest campaigns counted as less than none.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: datafusion==55.0.0 \
  pyarrow==26.0.1 duckdb==2.0.1
"$folder/python/bin/python" - <<'PYTHON'
import datafusion
import duckdb
import pyarrow
import pyarrow.compute

devices, sizes = (pyarrow.array(column, pyarrow.int32()) for column in ([600_000, 1], [4096, 4096]))
campaigns = pyarrow.table({"devices": devices, "bytes": sizes})
context, database = datafusion.SessionContext(), duckdb.connect()
context.from_arrow(campaigns, name="campaigns")
print(f"DataFusion {datafusion.__version__}, DuckDB {duckdb.__version__}, pyarrow {pyarrow.__version__}:")
for question, expected in (
    ("max(devices) * max(bytes)", -1_837_367_296),
    ("sum(devices * bytes)", -1_837_363_200),
    ("max(devices) * 4096", 2_457_600_000),
    ("cast(300 AS smallint) * cast(300 AS smallint)", 24_464),
):
    (row,) = context.sql(f"SELECT {question} AS answer FROM campaigns LIMIT 1").to_pylist()
    print(f"  {question}: {row['answer']}")
    assert row["answer"] == expected, row
for question in ("sum(devices * bytes)", "max(cast(300 AS smallint) * cast(300 AS smallint))"):
    try:
        raise SystemExit(f"DuckDB: {database.execute(f'SELECT {question} FROM campaigns').fetchall()}")
    except duckdb.OutOfRangeException:
        print(f"  {question}, DuckDB: an error")
assert pyarrow.compute.multiply(devices, sizes)[0].as_py() == -1_837_367_296
try:
    raise SystemExit(f"pyarrow: {pyarrow.compute.multiply_checked(devices, sizes)}")
except pyarrow.ArrowInvalid:
    pass
PYTHON
