#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Ids of pushes have 128 bits, as UUIDs and ULIDs have, and are whole numbers in JSON. What readers of Python make of
# two that differ in the last digit:
#
# - json of Python 3.11, ujson 6.1.0, python-rapidjson 1.25, msgspec 0.23.0, and `from_json` of pydantic 2.14.4: both,
#   as they are.
# - orjson 3.13.0: the one float 2.126764793255669e+36 for both, with no error. Below 2**64 all digits are kept. What it
#   writes again of the float is another number in JSON.
#
# To write a number of 2**64 or more is an error for orjson, "Integer exceeds 64-bit range".
#
# Guessed before it was run: a whole number is read as it is, or is an error, as it is when it is written.
#
# Whoever drops doubles by the id drops the second push, and all of the same millisecond, as the last digits are what
# such ids differ in. Ids of 64 bits, which one tries first, are right.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: orjson==3.13.0 ujson==6.1.0 \
  python-rapidjson==1.25 msgspec==0.23.0 pydantic==2.14.4
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json
import uuid

import msgspec
import orjson
import pydantic_core
import rapidjson
import ujson

# Two of version 7 of one millisecond, which differ in what is counted.
IDS = [uuid.UUID(f"01999999-9999-7000-8000-00000000000{last}").int for last in (1, 2)]
text = json.dumps(IDS)
print(text)
for name, read in (
    ("json", json.loads),
    ("ujson", ujson.loads),
    ("python-rapidjson", rapidjson.loads),
    ("msgspec", msgspec.json.decode),
    ("pydantic", pydantic_core.from_json),
    ("orjson", orjson.loads),
):
    seen = read(text)
    print(f"  {name}: {seen}")
    assert seen == (IDS if name != "orjson" else [float(IDS[0])] * 2), seen
print("orjson", importlib.metadata.version("orjson"))
assert len(set(orjson.loads(text))) == 1 and json.loads(orjson.dumps(orjson.loads(text))) != IDS
assert orjson.loads(str(2**64 - 1)) == 2**64 - 1 and orjson.dumps(2**64 - 1) == str(2**64 - 1).encode()
try:
    orjson.dumps(IDS[0])
except TypeError as error:
    assert "64-bit" in str(error), error
else:
    raise AssertionError("it writes such a number")
PYTHON
