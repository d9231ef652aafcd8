#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A device is kept in TinyDB 4.9.0 with a badge of 1. A push is made of what `search(token == "0a")` finds, and counts
# the badge up in that dictionary, which is not written back. What is found next:
#
# - With `search` and the same condition: a badge of 2. After ten pushes it is 11. In the file there is 1, and so there
#   is for `get` with the same condition, for `all`, for `search(badge < 5)` and for another TinyDB on the file.
# - After any `insert` or `update` of another device: 1.
#
# The table keeps what the last ten conditions found, and gives the same dictionaries again. With
# `table("_default", cache_size=0)` each search finds 1. With `TinyDB.table_class.default_query_cache_capacity = 0`, an
# attribute that is the default of that, nothing changes: it was looked up when the class was made.
#
# Guessed before it was run: what is stored is found, as what is found was read out of JSON.
#
# Whoever adds fields to what was found, as the text of this push, has them in the next push to the same device, and
# only if nothing was written in between; a test, which looks once, is right.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: tinydb==4.9.0
cd "$folder"
python/bin/python - <<'PYTHON'
import importlib.metadata
import json

import tinydb


def badges(found):
    return [each["badge"] for each in found if each["token"] == "0a"]


def of_token(token):
    return tinydb.Query().token == token


database = tinydb.TinyDB("devices.json")
database.insert({"token": "0a", "badge": 1})
for _ in range(10):
    database.search(of_token("0a"))[0]["badge"] += 1
with open("devices.json") as file:
    stored = badges(json.load(file)["_default"].values())
seen = badges(database.search(of_token("0a")))
others = [
    badges([database.get(of_token("0a"))]),
    badges(database.all()),
    badges(database.search(tinydb.Query().badge < 5)),
    badges(tinydb.TinyDB("devices.json").search(of_token("0a"))),
]
print(f"TinyDB {importlib.metadata.version('tinydb')}: found {seen}, in the file {stored}, found otherwise {others}")
assert (seen, stored, others) == ([11], [1], [[1]] * 4)
database.insert({"token": "1b", "badge": 7})
assert badges(database.search(of_token("0a"))) == [1]
database.search(of_token("0a"))[0]["badge"] += 1
database.update({"badge": 8}, of_token("1b"))
assert badges(database.search(of_token("0a"))) == [1]


def with_no_cache(**options):
    table = tinydb.TinyDB("devices.json").table("_default", **options)
    table.search(of_token("0a"))[0]["badge"] += 1
    return badges(table.search(of_token("0a")))


assert with_no_cache(cache_size=0) == [1]
tinydb.TinyDB.table_class.default_query_cache_capacity = 0
assert with_no_cache() == [2]
PYTHON
