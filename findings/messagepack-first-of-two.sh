#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two pushes, {"id": 1} and {"id": 2}, one behind the other in the value of one record, as CBOR allows it (a CBOR
# sequence, RFC 8742) and MessagePack does. What the function that reads a value from bytes makes of them:
#
# - CBOR: `loads` of cbor2 6.3.0 returns the first, and says nothing. cborx 0.2.5 and dag-cbor 0.3.3 raise an error.
# - MessagePack: `unpackb` of u-msgpack-python 2.8.0 and of ormsgpack 1.13.1 returns the first, and says nothing. Those
#   of msgpack 1.2.4 and msgspec 0.23.0 raise an error.
#
# What one would guess: `loads` is for one whole document, as that of `json` is, which raises "Extra data".
#
# Whoever puts several pushes into a record, and tests with a record of one, delivers the first of each.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cbor2==6.3.0 cborx==0.2.5 \
  dag-cbor==0.3.3 msgpack==1.2.4 u-msgpack-python==2.8.0 ormsgpack==1.13.1 msgspec==0.23.0
"$folder/python/bin/python" - <<'PYTHON'
import json

import cbor2
import cborx
import dag_cbor
import msgpack
import msgspec
import ormsgpack
import umsgpack

pushes = {"id": 1}, {"id": 2}
cbor = b"".join(map(cbor2.dumps, pushes))
packed = b"".join(map(msgpack.packb, pushes))
for name, read, value, expected in (
    ("json", json.loads, " ".join(map(json.dumps, pushes)), "JSONDecodeError"),
    ("cbor2", cbor2.loads, cbor, pushes[0]),
    ("cborx", cborx.loads, cbor, "CBORDecodeError"),
    ("dag-cbor", dag_cbor.decode, cbor, "DAGCBORDecodingError"),
    ("u-msgpack-python", umsgpack.unpackb, packed, pushes[0]),
    ("ormsgpack", ormsgpack.unpackb, packed, pushes[0]),
    ("msgpack", msgpack.unpackb, packed, "ExtraData"),
    ("msgspec", msgspec.msgpack.decode, packed, "DecodeError"),
):
    try:
        seen = read(value)
    except Exception as error:
        seen = type(error).__name__
    print(f"{name}: {seen}")
    assert seen == expected, seen
PYTHON
