#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Noon of 29 November 2026 without a zone, datetime(2026, 11, 29, 12, 0), is put into a record by a process in Berlin.
# What is in the record:
#
# - 11:00 in UTC, noon in Berlin: Avro (`timestamp-millis`) with fastavro 1.13.1, and so AvroSerializer of
#   confluent-kafka 2.16.1; the bytes of betterproto 1.2.5.
# - 12:00 in UTC, noon in Greenwich: `FromDatetime` of protobuf 7.36.2, and a datetime that is set as the field's value;
#   the JSON of betterproto 1.2.5; pyarrow 26.0.1, with "UTC" as the column's zone; BSON with pymongo 4.20.1.
# - An error: avro 1.12.2, msgpack 1.2.4, cbor2 6.3.0, betterproto 2.0.0b7.
#
# betterproto has both in one version, for one message.
#
# Guessed before it was run: noon in Berlin, as for `timestamp()` of Python, or an error.
#
# Whoever changes a topic from Avro to Protocol Buffers, or sends to two that have one each, sends an hour apart;
# servers in UTC see nothing of it.
#
# Fails if a version writes otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary \
  'confluent-kafka[avro,schemaregistry]==2.16.1' fastavro==1.13.1 avro==1.12.2 protobuf==7.36.2 pyarrow==26.0.1 \
  pymongo==4.20.1 msgpack==1.2.4 cbor2==6.3.0
for version in 1.2.5 2.0.0b7; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary --target "$folder/$version" \
    "betterproto==$version"
done

with_betterproto() {
  TZ=Europe/Berlin PYTHONPATH=$1 "$folder/python/bin/python" -W ignore - "$2" <<'PYTHON'
import dataclasses
import datetime
import importlib.metadata
import json
import sys

import betterproto

NOON = datetime.datetime(2026, 11, 29, 12, 0)


@dataclasses.dataclass
class Push(betterproto.Message):
    at: datetime.datetime = betterproto.message_field(1)


def in_bytes():
    data = bytes(Push(at=NOON))
    assert data[:3] == b"\x0a\x06\x08", data  # one field of six bytes, the seconds, of seven bits each
    seconds = sum((byte & 127) << 7 * place for place, byte in enumerate(data[3:]))
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


try:
    seen = in_bytes(), json.loads(Push(at=NOON).to_json())["at"]
except TypeError:
    seen = ("an error",)
print("betterproto", importlib.metadata.version("betterproto"), *seen)
expected = ("2026-11-29T11:00:00+00:00", "2026-11-29T12:00:00Z") if sys.argv[1] == "both" else ("an error",)
assert seen == expected, seen
PYTHON
}

TZ=Europe/Berlin "$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import io
import json

import avro.errors
import avro.io
import avro.schema
import bson
import cbor2
import fastavro
import msgpack
import pyarrow
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

NOON = datetime.datetime(2026, 11, 29, 12, 0)
TIME = {"type": "long", "logicalType": "timestamp-millis"}
PUSH = {"type": "record", "name": "Push", "fields": [{"name": "at", "type": TIME}]}


def with_fastavro():
    file = io.BytesIO()
    fastavro.schemaless_writer(file, PUSH, {"at": NOON})
    file.seek(0)
    return fastavro.schemaless_reader(file, PUSH)["at"]


def with_confluent():
    registry = SchemaRegistryClient.new_client({"url": "mock://registry"})  # its own, in memory
    context = SerializationContext("pushes", MessageField.VALUE)
    written = AvroSerializer(registry, json.dumps(PUSH))({"at": NOON}, context)
    return AvroDeserializer(registry)(written, context)["at"]


def with_avro():
    writer = avro.io.DatumWriter(avro.schema.parse(json.dumps(PUSH)))
    return writer.write({"at": NOON}, avro.io.BinaryEncoder(io.BytesIO()))


def with_protobuf():
    time = timestamp_pb2.Timestamp()
    time.FromDatetime(NOON)
    return time.ToDatetime(datetime.timezone.utc)


def set_as_value():
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="push.proto", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    field = file.message_type.add(name="Push").field.add(name="at", number=1, type=kind.TYPE_MESSAGE)
    field.label, field.type_name = kind.LABEL_OPTIONAL, ".google.protobuf.Timestamp"
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    push = message_factory.GetMessageClass(pool.FindMessageTypeByName("Push"))()
    push.at = NOON
    return push.at.ToDatetime(datetime.timezone.utc)


def with_pyarrow():
    return pyarrow.array([NOON], pyarrow.timestamp("ms", "UTC"))[0].as_py().astimezone(datetime.timezone.utc)


def with_bson():
    options = bson.codec_options.CodecOptions(tz_aware=True)
    return bson.decode(bson.encode({"at": NOON}), options)["at"].astimezone(datetime.timezone.utc)


def hour(write):
    try:
        return write().isoformat()
    except (avro.errors.AvroTypeException, cbor2.CBOREncodeError, ValueError) as error:
        return f"an error: {type(error).__name__}"


berlin, greenwich = "2026-11-29T11:00:00+00:00", "2026-11-29T12:00:00+00:00"
for name, write, expected in (
    ("fastavro", with_fastavro, berlin),
    ("confluent-kafka", with_confluent, berlin),
    ("protobuf", with_protobuf, greenwich),
    ("protobuf", set_as_value, greenwich),
    ("pyarrow", with_pyarrow, greenwich),
    ("pymongo", with_bson, greenwich),
    ("avro", with_avro, "an error"),
    ("msgpack", lambda: msgpack.packb(NOON, datetime=True), "an error"),
    ("cbor2", lambda: cbor2.dumps(NOON), "an error"),
):
    seen = hour(write)
    print(name, importlib.metadata.version(name), seen)
    assert seen.startswith(expected), seen
PYTHON
with_betterproto "$folder/1.2.5" both
with_betterproto "$folder/2.0.0b7" error
