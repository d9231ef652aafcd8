#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The `avro` package of Apache Avro, 1.11.5 and 1.12.2, writes a Decimal with fewer digits after the point than the
# schema's scale as if they were the last ones: at a scale of 2, Decimal("1.5") is 0.15 for every reader, itself and
# fastavro 1.13.1 alike, and Decimal("20") is 0.20. Decimal("1.50") is right. fastavro writes all of them right. It is
# so in `bytes` and in `fixed`. With more digits than the scale, the package raises an error.
#
# It writes the digits of the Decimal as they are, and leaves its exponent away.
#
# What one would guess: 1.5 is 1.50, or it is refused as the number with too many digits is.
#
# Whoever puts prices into Kafka with it pushes "your order of 0.20 is paid" for each amount without cents.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fastavro==1.13.1

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "avro==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import json
from decimal import Decimal

import avro.io
import avro.schema
import fastavro


def schema_of(kind):
    size = {"name": "Price", "size": 8} if kind == "fixed" else {}
    return {"type": kind, "logicalType": "decimal", "precision": 9, "scale": 2, **size}


def avro_writes(schema, number):
    out = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(json.dumps(schema))).write(number, avro.io.BinaryEncoder(out))
    return out.getvalue()


def avro_reads(schema, data):
    return avro.io.DatumReader(avro.schema.parse(json.dumps(schema))).read(avro.io.BinaryDecoder(io.BytesIO(data)))


def fastavro_writes(schema, number):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), number)
    return out.getvalue()


def fastavro_reads(schema, data):
    return fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(schema))


print("avro", importlib.metadata.version("avro"))
for kind in ("bytes", "fixed"):
    schema = schema_of(kind)
    for text, expected in (("1.50", "1.50"), ("1.5", "0.15"), ("20", "0.20"), ("-7", "-0.07")):
        seen = []
        for write, meant in ((avro_writes, expected), (fastavro_writes, str(Decimal(text).quantize(Decimal("0.01"))))):
            data = write(schema, Decimal(text))
            by_avro, by_fastavro = str(avro_reads(schema, data)), str(fastavro_reads(schema, data))
            seen.append(f"{write.__name__} {data.hex()}, avro reads {by_avro}, fastavro {by_fastavro}")
            assert by_avro == by_fastavro == meant, seen
        print(f"  {kind} {text}:", *seen, sep="; ")
try:
    avro_writes(schema_of("bytes"), Decimal("1.505"))
    raise AssertionError("not refused")
except avro.errors.AvroOutOfScaleException as error:
    print(f"  bytes 1.505: {type(error).__name__}")
PYTHON
}

look 1.11.5
look 1.12.2
