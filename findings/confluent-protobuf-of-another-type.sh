#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A schema in Protocol Buffers has two types, `Sent` with a token and a status, and `Opened` with a token and the
# seconds until it was opened. A record of Kafka that ProtobufSerializer of confluent-kafka 2.16.1 has made says which
# schema it is of, and which type of it. ProtobufDeserializer for `Opened` reads a `Sent` of status 410, with no error,
# as a push that was opened after 410 seconds. So it does if each type is in a schema of its own, with another number in
# the registry. AvroDeserializer, for the same two in Avro, raises SchemaResolutionError.
#
# It passes over the number of the type, and reads what is behind it as the type that it was made for. Most bytes can be
# read as any type of Protocol Buffers whose numbers of fields are the same.
#
# Guessed before it was run: SerializationError, as the record says itself that it is another type.
#
# Whoever has events of several types in one topic, so that those of a device stay in order, counts each refused push as
# one that was opened.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  "confluent-kafka[avro,protobuf,schemaregistry]==2.16.1" fastavro==1.13.1 protobuf==7.36.2
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import importlib.metadata
import json

from confluent_kafka.schema_registry import SchemaRegistryClient, avro, protobuf
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
NAMES = {"Sent": "status", "Opened": "seconds"}
OPTIONS = {"use.deprecated.format": False}
registry = SchemaRegistryClient.new_client({"url": "mock://pushes"})  # one of the library's own, for tests


def schema(file, *types):
    """The classes of what a file of schemas declares."""
    declared = descriptor_pb2.FileDescriptorProto(name=file, syntax="proto3")
    for name in types:
        message = declared.message_type.add(name=name)
        message.field.add(name="token", number=1, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
        message.field.add(name=NAMES[name], number=2, type=FIELD.TYPE_INT32, label=FIELD.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(declared)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in types]


def read(writer, reader, topic, **fields):
    context = SerializationContext(topic, MessageField.VALUE)
    record = protobuf.ProtobufSerializer(writer, registry, OPTIONS)(writer(**fields), context)
    value = protobuf.ProtobufDeserializer(reader, OPTIONS, registry)(record, context)
    return record, {field.name: content for field, content in value.ListFields()}


sent, opened = schema("push.proto", "Sent", "Opened")
((lone_sent,), (lone_opened,)) = schema("sent.proto", "Sent"), schema("opened.proto", "Opened")
seen = [
    read(sent, opened, "one", token="0a", status=410),
    read(opened, sent, "one", token="0a", seconds=5),
    read(lone_sent, lone_opened, "sent", token="0a", status=410),
    read(lone_opened, lone_sent, "opened", token="0a", seconds=5),
]
print("confluent-kafka", importlib.metadata.version("confluent-kafka"), *seen, sep="\n  ")
assert [values for _, values in seen] == [{"token": "0a", "seconds": 410}, {"token": "0a", "status": 5}] * 2, seen
head = [record[:7] for record, _ in seen]
assert head[0][5:6] == b"\x00" and head[1][5:] == b"\x02\x02", head  # the first type, and the second
assert len({one[:5] for one in head}) == 3, head  # three schemas


def avro_schema(name):
    fields = [{"name": "token", "type": "string"}, {"name": NAMES[name], "type": "int"}]
    return json.dumps({"type": "record", "name": name, "fields": fields})


context = SerializationContext("avro", MessageField.VALUE)
record = avro.AvroSerializer(registry, avro_schema("Sent"))({"token": "0a", "status": 410}, context)
try:
    value = avro.AvroDeserializer(registry, avro_schema("Opened"))(record, context)
except Exception as error:
    value = type(error).__name__
print("  in Avro:", value)
assert value == "SchemaResolutionError", value
PYTHON
