#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A topic's schema gets a new field `skip`, a list of device tokens with the default []. A consumer that has the new
# schema reads records of the old one, with AvroDeserializer of confluent-kafka 2.16.1 (fastavro 1.13.1 beneath it). It
# adds a token to the list of the first record: each later record of the old schema comes with that token in its list.
# So it is with a default of {}, here a map. DatumReader of avro 1.12.2 makes a new list for each record.
#
# The list in the record is the one that the parsed schema has as the default, and not a copy.
#
# Guessed before it was run: what is read from bytes belongs to who reads it, and each record has a list of its own.
#
# Whoever notes in a record to whom it was sent, or who is to be skipped, skips them in all records that come after.
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

import avro.io
import avro.schema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

identifier = {"name": "id", "type": "int"}
skip = {"name": "skip", "type": {"type": "array", "items": "string"}, "default": []}
data = {"name": "data", "type": {"type": "map", "values": "string"}, "default": {}}
old = json.dumps({"type": "record", "name": "Push", "fields": [identifier]})
new = json.dumps({"type": "record", "name": "Push", "fields": [identifier, skip, data]})


def with_confluent():
    registry = SchemaRegistryClient.new_client({"url": "mock://registry"})  # its own, in memory
    context = SerializationContext("pushes", MessageField.VALUE)
    write, read = AvroSerializer(registry, old), AvroDeserializer(registry, new)
    return lambda number: read(write({"id": number}, context), context)


def with_avro():
    write, read = avro.io.DatumWriter(avro.schema.parse(old)), avro.io.DatumReader()

    def make(number):
        file = io.BytesIO()
        write.write({"id": number}, avro.io.BinaryEncoder(file))
        read.writers_schema, read.readers_schema = write.writers_schema, schema
        return read.read(avro.io.BinaryDecoder(io.BytesIO(file.getvalue())))

    schema = avro.schema.parse(new)
    return make


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("confluent-kafka", "fastavro", "avro")))
for client, skipped, words in (
    (with_confluent, ["0a1b"], {"seen": "yes"}),
    (with_avro, [], {}),
):
    record = client()
    first = record(1)
    assert first == {"id": 1, "skip": [], "data": {}}, first
    first["skip"].append("0a1b")
    first["data"]["seen"] = "yes"
    second = record(2)
    print(f"  {client.__name__}: the second record is", second)
    assert second == {"id": 2, "skip": skipped, "data": words}, second
PYTHON
