#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A request for a push comes as JSON, {"badge": "7", "silent": "false"}, and is read into a class with `badge: int` and
# `silent: bool`. What becomes of "false", of "no", and of a badge of 1.9:
#
# - cattrs 26.2.1, mashumaro 3.23, typedload 2.41 and dataclasses-json 0.6.7: a silent push, both times. The badge is 1.
# - marshmallow 3.26.2: no silent push. The badge is 1.
# - pydantic 2.14.4: no silent push. 1.9 is an error, and "7" is 7.
# - dacite 1.9.2, msgspec 0.23.0 and adaptix 3.0.0b12: errors.
#
# The first four call the type with the value, and `bool` of a text that is not empty is true; `int` cuts.
#
# What one would guess: a library that reads JSON into typed classes either knows what "false" means or refuses it.
#
# A form, a query string and a CSV have texts only. What they ask to be shown goes out as a push that nobody sees.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cattrs==26.2.1 mashumaro==3.23 \
  typedload==2.41 dataclasses-json==0.6.7 marshmallow==3.26.2 pydantic==2.14.4 dacite==1.9.2 msgspec==0.23.0 \
  adaptix==3.0.0b12
"$folder/python/bin/python" - <<'PYTHON'
import dataclasses

import adaptix
import cattrs
import dacite
import dataclasses_json
import marshmallow
import mashumaro.codecs
import msgspec
import pydantic
import typedload


@dataclasses_json.dataclass_json
@dataclasses.dataclass
class Push:
    badge: int
    silent: bool


class PushSchema(marshmallow.Schema):
    badge = marshmallow.fields.Integer()
    silent = marshmallow.fields.Boolean()


loaders = {
    "cattrs": lambda document: cattrs.structure(document, Push),
    "mashumaro": mashumaro.codecs.BasicDecoder(Push).decode,
    "typedload": lambda document: typedload.load(document, Push),
    "dataclasses-json": Push.from_dict,
    "marshmallow": lambda document: Push(**PushSchema().load(document)),
    "pydantic": pydantic.TypeAdapter(Push).validate_python,
    "dacite": lambda document: dacite.from_dict(Push, document),
    "msgspec": lambda document: msgspec.convert(document, Push),
    "adaptix": lambda document: adaptix.Retort().load(document, Push),
}
documents = ({"badge": "7", "silent": "false"}, {"badge": 7, "silent": "no"}, {"badge": 1.9, "silent": True})
calls_the_type = [(7, True), (7, True), (1, True)]
expected = {
    **dict.fromkeys(("cattrs", "mashumaro", "typedload", "dataclasses-json"), calls_the_type),
    "marshmallow": [(7, False), (7, False), (1, True)],
    "pydantic": [(7, False), (7, False), "error"],
    **dict.fromkeys(("dacite", "msgspec", "adaptix"), ["error"] * 3),
}
for name, load in loaders.items():
    seen = []
    for document in documents:
        try:
            push = load(document)
            assert type(push.badge) is int and type(push.silent) is bool, push
            seen.append((push.badge, push.silent))
        except Exception as error:
            assert not isinstance(error, (AssertionError, AttributeError)), error
            seen.append("error")
    print(f"{name}: (badge, silent) of {documents[0]}, {documents[1]}, {documents[2]}: {seen}")
    assert seen == expected[name], seen
PYTHON
