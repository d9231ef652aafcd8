# SPDX-License-Identifier: Apache-2.0
"""Checks an AsyncAPI 3 document: its structure, and that each reference leads somewhere.

Prints {"topics": [...]}, the addresses of its channels, and fails if something is wrong.
"""

import argparse
import json
import os
import warnings

warnings.simplefilter("ignore")
from asyncapi3.models.asyncapi import AsyncAPI3  # noqa: E402

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--document", required=True)
PATH = PARSER.parse_args().document


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for element in value:
            yield from references(element)


def resolve(reference):
    file, _, pointer = reference.partition("#")
    target = DOCUMENT
    if file:
        with open(os.path.join(os.path.dirname(PATH), file), encoding="utf-8") as other:
            target = json.load(other)
    for part in pointer.split("/")[1:]:
        target = target[part]


with open(PATH, encoding="utf-8") as document:
    DOCUMENT = json.load(document)
AsyncAPI3.model_validate(DOCUMENT)
for found in references(DOCUMENT):
    resolve(found)
print(json.dumps({"topics": [channel["address"] for channel in DOCUMENT["channels"].values()]}))
