#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A table of devices has two that belong to no user (null), and a table of texts has one that is for no user, as of a
# user who was deleted. They are joined by the user, so that each device has its text. What the two devices have:
#
# - pandas 3.1.1 (`merge` and `join`, with texts and with numbers), petl 1.7.30 (`join` and `hashjoin`) and agate
#   1.14.2: that text, both. Nobody is equal to nobody.
# - polars 2.1.0, DuckDB 2.0.1, pyarrow 26.0.1 and DataFusion 55.0.0: nothing, as in SQL, where null is equal to
#   nothing.
#
# Guessed before it was run: nothing, by each, as an inner join leaves out what has no partner; pandas has of NaN itself
# that it is not equal to NaN.
#
# Whoever has ten thousand devices without a user and one such text pushes it to all of them; and with a thousand texts
# there are ten million pushes.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pandas==3.1.1 petl==1.7.30 \
  agate==1.14.2 polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1 datafusion==55.0.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import agate
import datafusion
import duckdb
import pandas
import petl
import polars
import pyarrow

DEVICES = [{"token": "0a", "user": "anna"}, {"token": "0b", "user": None}, {"token": "0c", "user": None}]
TEXTS = [{"user": "anna", "text": "for Anna"}, {"user": None, "text": "for nobody"}]
devices, texts = pandas.DataFrame(DEVICES), pandas.DataFrame(TEXTS)
numbers = [pandas.DataFrame({**table.to_dict("list"), "user": users})
           for table, users in ((devices, [1, None, None]), (texts, [1, None]))]
arrow = [pyarrow.Table.from_pylist(rows) for rows in (DEVICES, TEXTS)]
context = datafusion.SessionContext()
first, second = duckdb.from_arrow(arrow[0]).set_alias("one"), duckdb.from_arrow(arrow[1]).set_alias("two")
agates = [agate.Table.from_object(rows) for rows in (DEVICES, TEXTS)]
joined = {
    "pandas merge": devices.merge(texts, on="user").token,
    "pandas join": devices.join(texts.set_index("user"), on="user", how="inner").token,
    "pandas numbers": numbers[0].merge(numbers[1], on="user").token,
    "petl join": petl.values(petl.join(petl.fromdicts(DEVICES), petl.fromdicts(TEXTS), key="user"), "token"),
    "petl hashjoin": petl.values(petl.hashjoin(petl.fromdicts(DEVICES), petl.fromdicts(TEXTS), key="user"), "token"),
    "agate": agates[0].join(agates[1], "user", inner=True).columns["token"],
    "polars": polars.DataFrame(DEVICES).join(polars.DataFrame(TEXTS), on="user")["token"],
    "duckdb": [row[0] for row in first.join(second, "user").fetchall()],
    "pyarrow": arrow[0].join(arrow[1], "user", join_type="inner")["token"].to_pylist(),
    "datafusion": [row["token"] for row in
                   context.from_pylist(DEVICES).join(context.from_pylist(TEXTS), on="user", how="inner").to_pylist()],
}
for name, tokens in joined.items():
    tokens = sorted(tokens)
    print(f"{name}, {importlib.metadata.version(name.split()[0])}: {tokens}")
    assert tokens == (["0a", "0b", "0c"] if name.split()[0] in ("pandas", "petl", "agate") else ["0a"]), tokens
PYTHON
