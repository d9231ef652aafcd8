#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A payload in which two programs have each added a badge: {"aps":{"badge":1,"badge":2}}. (RFC 8259 advises against
# it; it is JSON.) json of Python, orjson 3.13.0, msgspec 0.22.0 and pydantic 2.14.4 say 2. pysimdjson 7.0.2 says 1 or
# 2:
#
# - `document["aps"]["badge"]`, `get`, `at_pointer` and `dict(…)` say 1.
# - `as_dict()` of the same document, and `loads`, say 2.
#
# SQLite 3.40.1 (that of Debian 12) reads and writes the first only. After `json_set(…, '$.aps.badge', 3)` it reads 3,
# and the parsers above read 2. After `json_remove`, or `json_patch` with null, there still is a badge of 2.
#
# What one would guess: parsers differ, but each has one answer; and what SQLite has set or removed is set or
# removed.
#
# Whoever checks a payload in one of these ways and sends it sends another badge than the one that was checked.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sqlite3 --version | grep -q '^3\.40\.1 '
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pysimdjson==7.0.2 orjson==3.13.0 \
  msgspec==0.22.0 pydantic==2.14.4
"$folder/python/bin/python" - <<'PYTHON'
import json
import subprocess

import msgspec
import orjson
import pydantic
import simdjson


class Aps(pydantic.BaseModel):
    badge: int


class Payload(pydantic.BaseModel):
    aps: Aps


twice = '{"aps":{"badge":1,"badge":2}}'
last = {
    "json": lambda text: json.loads(text)["aps"]["badge"],
    "orjson": lambda text: orjson.loads(text)["aps"]["badge"],
    "msgspec": lambda text: msgspec.json.decode(text)["aps"]["badge"],
    "pydantic": lambda text: Payload.model_validate_json(text).aps.badge,
    "pysimdjson loads": lambda text: simdjson.loads(text)["aps"]["badge"],
    "pysimdjson as_dict()": lambda text: simdjson.Parser().parse(text.encode()).as_dict()["aps"]["badge"],
}
first = {
    'pysimdjson ["badge"]': lambda text: simdjson.Parser().parse(text.encode())["aps"]["badge"],
    "pysimdjson get": lambda text: simdjson.Parser().parse(text.encode())["aps"].get("badge"),
    "pysimdjson at_pointer": lambda text: simdjson.Parser().parse(text.encode()).at_pointer("/aps/badge"),
    "pysimdjson dict": lambda text: dict(simdjson.Parser().parse(text.encode())["aps"])["badge"],
}
for ways, expected in ((last, 2), (first, 1)):
    seen = {name: way(twice) for name, way in ways.items()}
    print(*(f"{name}: {badge}" for name, badge in seen.items()), sep="; ")
    assert set(seen.values()) == {expected}, seen


def sqlite(expression):
    said = subprocess.run(["sqlite3", ":memory:", f"SELECT {expression}"], capture_output=True, check=True, text=True)
    return said.stdout.strip()


for expression, by_sqlite, by_others in (
    (f"json('{twice}')", "1", {2}),
    (f"json_set('{twice}', '$.aps.badge', 3)", "3", {2}),
    (f"json_remove('{twice}', '$.aps.badge')", "2", {2}),
    (f"""json_patch('{twice}', '{{"aps":{{"badge":null}}}}')""", "2", {2}),
):
    text = sqlite(expression)
    badge = sqlite(f"json_extract('{text}', '$.aps.badge')")
    others = {way(text) for way in last.values()}
    print(f"sqlite3: {expression}: {text}; json_extract: {badge}; the parsers of the first line: {others}")
    assert badge == by_sqlite and others == by_others, text
PYTHON
