#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fastavro 1.13.1, and so AvroSerializer of confluent-kafka 2.16.1, writes what is not of the schema's type, without an
# error:
#
# - `boolean`: the text "false" becomes true, and so does "0".
# - `int` and `long`: 1.7 becomes 1. `double`: the text "1.5" becomes 1.5; "5" for an `int` is refused.
# - `int`, of 32 bits: 2**40 is written as it is.
# - `array`: of the text "abc" becomes ["a", "b", "c"].
#
# If the field may also be null, ["null", TYPE], it refuses each of these. avro 1.12.2 refuses each in both.
#
# What one would guess: what does not fit the schema is an error, and a field that may be null takes the same as
# one that may not, and null.
#
# Whoever fills records from a form or an environment, and trusts the schema to find what is wrong, sends silent pushes
# of what was "false".
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  'confluent-kafka[avro,schemaregistry]==2.16.1' fastavro==1.13.1 avro==1.12.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import json

import avro.errors
import avro.io
import avro.schema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def schema(kind):
    return json.dumps({"type": "record", "name": "Push", "fields": [{"name": "field", "type": kind}]})


def with_confluent(kind, value):
    registry = SchemaRegistryClient.new_client({"url": "mock://registry"})  # its own, in memory
    context = SerializationContext("pushes", MessageField.VALUE)
    try:
        written = AvroSerializer(registry, schema(kind))({"field": value}, context)
    except (TypeError, ValueError):
        return "refused"
    return AvroDeserializer(registry)(written, context)["field"]


def with_avro(kind, value):
    parsed, file = avro.schema.parse(schema(kind)), io.BytesIO()
    try:
        avro.io.DatumWriter(parsed).write({"field": value}, avro.io.BinaryEncoder(file))
    except avro.errors.AvroTypeException:
        return "refused"
    return avro.io.DatumReader(parsed).read(avro.io.BinaryDecoder(io.BytesIO(file.getvalue())))["field"]


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("confluent-kafka", "fastavro", "avro")))
texts = {"type": "array", "items": "string"}
for kind, value, expected in (
    ("boolean", "false", True),
    ("boolean", "0", True),
    ("int", 1.7, 1),
    ("long", 1.7, 1),
    ("double", "1.5", 1.5),
    ("int", "5", "refused"),
    ("int", 2**40, 2**40),
    (texts, "abc", ["a", "b", "c"]),
):
    seen = with_confluent(kind, value)
    or_null = with_confluent(["null", kind], value)
    others = {with_avro(kind, value), with_avro(["null", kind], value)}
    print(f"  {json.dumps(kind)}: {value!r} is {seen!r}; if it may be null: {or_null}; avro: {others}")
    assert type(seen) is type(expected) and seen == expected and or_null == "refused" and others == {"refused"}, seen
PYTHON
