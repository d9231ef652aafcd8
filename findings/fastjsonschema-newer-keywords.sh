#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A schema of a push that says `"$schema": "https://json-schema.org/draft/2020-12/schema"`. fastjsonschema 2.22.3, which
# knows the drafts 4, 6 and 7, takes it without an error or a warning, and leaves out of it what those do not have:
#
# - What stands beside a `$ref`: `{"$ref": "#/$defs/seconds", "maximum": 3600}` takes 86400.
# - `dependentRequired`, `unevaluatedProperties`, `prefixItems`, and the 2 of `minContains`.
#
# It checks the rest, so it refuses a text in place of a number. Of `^apns-[!#$%&a-z-]+$`, in which a `$` stands in
# brackets, it cannot make a check: re.error. jsonschema 4.26.0 and jsonschema-rs 0.61.2 are right in all.
#
# It makes Python's regular expressions of the schema's, and `\Z` of each `$` that is not behind a backslash.
#
# Guessed before it was run: a draft that it does not know is refused, or it checks these too.
#
# Whoever checks pushes with it before they are produced, since it is fast, believes them checked.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fastjsonschema==2.22.3 \
  jsonschema==4.26.0 jsonschema-rs==0.61.2
"$folder/python/bin/python" -W error - <<'PYTHON'
import re

import fastjsonschema
import jsonschema
import jsonschema_rs

DRAFT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
PUSH = {
    **DRAFT,
    "$defs": {"seconds": {"type": "integer"}},
    "type": "object",
    "properties": {
        "id": True,
        "send_at": True,
        "expires_in": {"$ref": "#/$defs/seconds", "maximum": 3600},
        "at": {"prefixItems": [{"type": "integer"}]},
        "tokens": {"contains": {"type": "string"}, "minContains": 2},
    },
    "dependentRequired": {"send_at": ["id"]},
    "unevaluatedProperties": False,
}
check = fastjsonschema.compile(PUSH)


def with_fastjsonschema(push):
    try:
        check(push)
        return True
    except fastjsonschema.JsonSchemaValueException:
        return False


for push, said, right in (
    ({"id": "order-1", "send_at": 1795000000, "expires_in": 60, "at": [1], "tokens": ["aa", "bb"]}, True, True),
    ({"expires_in": "60"}, False, False),
    ({"tokens": []}, False, False),
    ({"expires_in": 86400}, True, False),
    ({"send_at": 1795000000}, True, False),
    ({"expires": 60}, True, False),
    ({"at": ["noon"]}, True, False),
    ({"tokens": ["aa"]}, True, False),
):
    seen = with_fastjsonschema(push)
    others = jsonschema.Draft202012Validator(PUSH).is_valid(push), jsonschema_rs.is_valid(PUSH, push)
    print(f"{push}: valid for fastjsonschema: {seen}; for jsonschema and jsonschema-rs: {others}")
    assert seen == said and others == (right, right), (seen, others)

name = {**DRAFT, "pattern": "^apns-[!#$%&a-z-]+$"}
try:
    fastjsonschema.compile(name)("apns-unread")
    raise SystemExit("fastjsonschema takes the pattern")
except re.error as error:
    print(f"fastjsonschema, {name['pattern']}: re.error: {error}")
assert jsonschema.Draft202012Validator(name).is_valid("apns-unread") and jsonschema_rs.is_valid(name, "apns-unread")
PYTHON
