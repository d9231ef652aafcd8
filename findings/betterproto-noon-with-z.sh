#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two fields of a message in Protocol Buffers, made with betterproto, and what google's protobuf 7.36.2 and betterproto
# itself read:
#
# - A time, noon at +05:30. `to_json` of betterproto 1.2.5, which `pip install betterproto` installs, writes
#   "2026-11-29T12:00:00Z": it is 5 h 30 min later. `bytes` of the same message has 06:30 in UTC, and so have both with
#   2.0.0b7.
# - A duration of -1.5 s. `bytes` of 1.2.5 and 2.0.0b7 has -1 s and +500,000,000 ns: betterproto and protobuf read -0.5
#   s. To JSON and back it is -1.5 s. protobuf writes -1 s and -500,000,000 ns.
#
# In durations both numbers have one sign; in times the second is never negative. betterproto has the latter in both.
#
# Guessed before it was run: what a library has written in either form it reads again as it was, and JSON and bytes of
# one message say the same.
#
# Whoever logs or hands on in JSON when a push is to be sent, with the user's own offset, has it sent at another hour;
# and what is late by 1.5 s is late by 0.5 s.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary "$3" "betterproto==$1" \
    protobuf==7.36.2
  "$folder/python/bin/python" - "$2" <<'PYTHON'
import importlib.metadata
import json
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import betterproto
from google.protobuf import descriptor_pb2, descriptor_pool, duration_pb2, message_factory, timestamp_pb2


@dataclass
class Push(betterproto.Message):
    at: datetime = betterproto.message_field(1)
    late: timedelta = betterproto.message_field(2)


pool = descriptor_pool.DescriptorPool()
for kind in (duration_pb2, timestamp_pb2):
    pool.AddSerializedFile(kind.DESCRIPTOR.serialized_pb)
file = descriptor_pb2.FileDescriptorProto(name="push.proto", syntax="proto3", dependency=[])
file.dependency.extend(["google/protobuf/duration.proto", "google/protobuf/timestamp.proto"])
message = file.message_type.add(name="Push")
for number, (name, kind) in enumerate((("at", "Timestamp"), ("late", "Duration")), 1):
    message.field.add(name=name, number=number, type=11, label=1, type_name=f".google.protobuf.{kind}")
pool.AddSerializedFile(file.SerializeToString())
ByGoogle = message_factory.GetMessageClass(pool.FindMessageTypeByName("Push"))

noon = datetime(2026, 11, 29, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
written = Push(at=noon, late=timedelta(seconds=-1.5))
in_json, back = json.loads(written.to_json()), Push().parse(bytes(written))
by_google = ByGoogle.FromString(bytes(written))
numbers = (by_google.late.seconds, by_google.late.nanos)
print("betterproto", importlib.metadata.version("betterproto"), "writes", in_json)
print(f"  of its bytes it reads {back.at}, {back.late.total_seconds()} s; protobuf {by_google.at.seconds}, {numbers}")
assert in_json == {"at": sys.argv[1], "late": "-1.500s"}, in_json
assert Push().from_json(written.to_json()).late == timedelta(seconds=-1.5)
assert back.at == noon and by_google.at.seconds == noon.timestamp(), back.at
assert back.late == timedelta(seconds=-0.5) and numbers == (-1, 500_000_000), numbers
assert by_google.late.ToTimedelta() == timedelta(seconds=-0.5)
right = ByGoogle()
right.late.FromTimedelta(timedelta(seconds=-1.5))
assert (right.late.seconds, right.late.nanos) == (-1, -500_000_000)
PYTHON
}

look 1.2.5 2026-11-29T12:00:00Z protobuf
look 2.0.0b7 2026-11-29T06:30:00Z :all:
