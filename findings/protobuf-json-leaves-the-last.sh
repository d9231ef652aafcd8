#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program reads pushes into one message of Protocol Buffers, which it uses again, with protobuf 7.36.2 and 5.29.5:
#
#     {"title": "Your order", "badge": 3, "sound": {"name": "bell"}, "tokens": ["0a"]}
#     {"title": "Good morning", "tokens": ["1b"]}
#
# `ParseFromString`, of the same two in bytes, gives the second. `json_format.Parse` and `ParseDict` give the second
# with the badge and the sound of the first: "Good morning" with a badge of 3 and a bell. The tokens are those of the
# second alone. `text_format.Parse` is an error, as there are two titles.
#
# It sets what stands in the text, and does not clear the message before. A list or a map that stands there it clears.
#
# Guessed before it was run: what is called Parse gives what was read, as `ParseFromString` does, which clears.
#
# Whoever makes a message once, since that is faster, sends pushes with what was in the last that had it.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "protobuf==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import google.protobuf
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, text_format

KIND = descriptor_pb2.FieldDescriptorProto
file = descriptor_pb2.FileDescriptorProto(name="push.proto", syntax="proto3")
sound = file.message_type.add(name="Sound")
sound.field.add(name="name", number=1, type=KIND.TYPE_STRING, label=KIND.LABEL_OPTIONAL)
push = file.message_type.add(name="Push")
push.field.add(name="title", number=1, type=KIND.TYPE_STRING, label=KIND.LABEL_OPTIONAL)
push.field.add(name="badge", number=2, type=KIND.TYPE_INT32, label=KIND.LABEL_OPTIONAL)
push.field.add(name="sound", number=3, type=KIND.TYPE_MESSAGE, type_name=".Sound", label=KIND.LABEL_OPTIONAL)
push.field.add(name="tokens", number=4, type=KIND.TYPE_STRING, label=KIND.LABEL_REPEATED)
entry = push.nested_type.add(name="CustomEntry")
entry.options.map_entry = True
entry.field.add(name="key", number=1, type=KIND.TYPE_STRING, label=KIND.LABEL_OPTIONAL)
entry.field.add(name="value", number=2, type=KIND.TYPE_STRING, label=KIND.LABEL_OPTIONAL)
push.field.add(
    name="custom", number=5, type=KIND.TYPE_MESSAGE, type_name=".Push.CustomEntry", label=KIND.LABEL_REPEATED
)
pool = descriptor_pool.DescriptorPool()
pool.AddSerializedFile(file.SerializeToString())
Push = message_factory.GetMessageClass(pool.FindMessageTypeByName("Push"))

first = {"title": "Your order", "badge": 3, "sound": {"name": "bell"}, "tokens": ["0a"], "custom": {"order": "7"}}
second = {"title": "Good morning", "tokens": ["1b"], "custom": {"day": "Sunday"}}


def read(parse, write):
    message = Push()
    for made in (first, second):
        parse(write(json_format.ParseDict(made, Push())), message)
    return json_format.MessageToDict(message)


print("protobuf", google.protobuf.__version__)
mixed = {**first, **second}
for name, seen, expected in (
    ("ParseFromString", read(lambda data, into: into.ParseFromString(data), Push.SerializeToString), second),
    ("json_format.Parse", read(json_format.Parse, json_format.MessageToJson), mixed),
    ("json_format.ParseDict", read(json_format.ParseDict, json_format.MessageToDict), mixed),
):
    print(f"  {name}: {seen}")
    assert seen == expected, seen
try:
    print(read(text_format.Parse, text_format.MessageToString))
    raise SystemExit("it reads the second")
except text_format.ParseError as error:
    print(f"  text_format.Parse: {error}")
PYTHON
}

look 5.29.5
look 7.36.2
