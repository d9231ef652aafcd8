#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Avro's single-object encoding begins with a fingerprint of the schema, by which the reader finds the schema. That of a
# schema with a time stamp, {"type": "long", "logicalType": "timestamp-millis"}, is another with the `avro` package of
# Apache Avro, 1.11.5 and 1.12.2, than with fastavro 1.13.1: so it is for each schema in which a primitive type has an
# attribute that does not count, as a logical type or Java's `avro.java.string`. Without one they agree.
#
# Both take the attribute away, to come to the Parsing Canonical Form, which is what the fingerprint is of. The
# specification then has "long" for {"type":"long"}. fastavro does so; avro does if there was no attribute, and leaves
# {"type":"long"} otherwise.
#
# Guessed before it was run: they agree, as it is the form that the fingerprint is for.
#
# Whoever writes records with the one and looks schemas up with the other finds none for those that have a time.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fastavro==1.13.1

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary "avro==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json

import avro.schema
import fastavro.schema


def push(kind):
    return {"type": "record", "name": "Push", "fields": [{"name": "field", "type": kind}]}


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("avro", "fastavro")))
for kind, simple, equal in (
    ("long", '"long"', True),
    ({"type": "long"}, '"long"', True),
    ({"type": "long", "logicalType": "timestamp-millis"}, '"long"', False),
    ({"type": "string", "logicalType": "uuid"}, '"string"', False),
    ({"type": "string", "avro.java.string": "String"}, '"string"', False),
    ({"type": "array", "items": "string", "default": []}, '{"type":"array","items":"string"}', True),
):
    with_avro = avro.schema.parse(json.dumps(push(kind)))
    form = fastavro.schema.to_parsing_canonical_form(push(kind))
    prints = with_avro.fingerprint("CRC-64-AVRO").hex(), fastavro.schema.fingerprint(form, "CRC-64-AVRO")
    print(f"  {json.dumps(kind)}: avro {prints[0]}, fastavro {prints[1]}")
    assert (prints[0] == prints[1]) == equal, prints
    field = '{"name":"Push","type":"record","fields":[{"name":"field","type":%s}]}'
    assert form == field % simple, form
    assert with_avro.canonical_form == field % (simple if equal else f'{{"type":{simple}}}'), with_avro.canonical_form
PYTHON
}

look 1.11.5
look 1.12.2
