#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A schema of Avro gets new fields with defaults, and records of the old schema are read with it. What the reader has
# for the fields that are not in the data:
#
# - `bytes` with the default "\u00ff", which is the one byte FF (a character of a default is a byte, as the
#   specification has it): the text "ÿ" with fastavro 1.13.1, and the two bytes C3 BF, its UTF-8, with avro 1.12.2.
# - `timestamp-millis` with the default 0: the number 0 with both. A value that is in the data is a datetime.
# - A record whose own field `badge` has the default 3, with the default {}: {} with fastavro, and {"badge": 3} with
#   avro.
#
# Guessed before it was run: a default is what the field would be if the data had it: b"\xff", 1970-01-01 in UTC, and
# {"badge": 3}.
#
# Whoever compares `expires_at` with a time gets TypeError from the records that were there before the field, and
# only from them; a key or a token of bytes is of another type, or longer.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fastavro==1.13.1 avro==1.12.2
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import io
import json

import avro.io
import avro.schema
import fastavro

aps = {"type": "record", "name": "Aps", "fields": [{"name": "badge", "type": "int", "default": 3}]}
fields = [
    {"name": "id", "type": "int"},
    {"name": "salt", "type": "bytes", "default": "\u00ff"},
    {"name": "expires_at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    {"name": "aps", "type": aps, "default": {}},
]
old = {"type": "record", "name": "Push", "fields": fields[:1]}
new = {"type": "record", "name": "Push", "fields": fields}
epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
whole = {"id": 1, "salt": b"\xff", "expires_at": epoch, "aps": {"badge": 3}}


def with_fastavro(writer, record):
    file = io.BytesIO()
    fastavro.schemaless_writer(file, writer, record)
    return fastavro.schemaless_reader(io.BytesIO(file.getvalue()), writer, new)


def with_avro(writer, record):
    schema, file = avro.schema.parse(json.dumps(writer)), io.BytesIO()
    avro.io.DatumWriter(schema).write(record, avro.io.BinaryEncoder(file))
    reader = avro.io.DatumReader(schema, avro.schema.parse(json.dumps(new)))
    return reader.read(avro.io.BinaryDecoder(io.BytesIO(file.getvalue())))


for name, client, expected in (
    ("fastavro", with_fastavro, {"id": 1, "salt": "\u00ff", "expires_at": 0, "aps": {}}),
    ("avro", with_avro, {"id": 1, "salt": b"\xc3\xbf", "expires_at": 0, "aps": {"badge": 3}}),
):
    assert client(new, whole) == whole
    seen = client(old, {"id": 1})
    print(name, importlib.metadata.version(name), "has for a record of the old schema", seen)
    assert seen == expected, seen
PYTHON
