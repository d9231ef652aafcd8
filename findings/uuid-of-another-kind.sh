#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# uuid-utils 1.2.0 calls itself a drop-in replacement for Python's `uuid`; fastuuid 0.14.0 is in Rust as well. The UUID
# of either is not equal to that of Python with the same 128 bits, and has another hash: it is not found in a dictionary
# of Python's, and a set holds both. The text, the bytes and the number of the two are equal. The UUIDs of uuid6
# 2025.0.1, those of `uuid_utils.compat`, and those that asyncpg 0.32.0 reads from PostgreSQL are equal to Python's.
#
# Comparison by == of the two kinds is False, and not an error; by < it is TypeError.
#
# Guessed before it was run: a replacement's UUID equals the original's, as 1.0 equals 1.
#
# Whoever makes `apns-id`s with it, and looks up those that come back from a database or out of `uuid.UUID(text)`, finds
# none: each answer is one to an unknown push, and each push is sent again.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: uuid-utils==1.2.0 fastuuid==0.14.0 \
  uuid6==2025.0.1 asyncpg==0.32.0
"$folder/python/bin/python" - <<'PYTHON'
import uuid

import asyncpg.pgproto.pgproto
import fastuuid
import uuid6
import uuid_utils
import uuid_utils.compat

text = "2e4f9f3f-08a9-7e6b-9a4d-3c0a6b0a5f33"
original = uuid.UUID(text)
waiting = {original: "order-1"}
for name, other, equal in (
    ("uuid_utils.UUID", uuid_utils.UUID(text), False),
    ("fastuuid.UUID", fastuuid.UUID(text), False),
    ("uuid6.UUID", uuid6.UUID(text), True),
    ("uuid_utils.compat.UUID", uuid_utils.compat.UUID(text), True),
    ("asyncpg", asyncpg.pgproto.pgproto.UUID(text), True),
):
    assert str(other) == text and other.bytes == original.bytes and other.int == original.int
    seen = {
        "equal": other == original,
        "found": waiting.get(other),
        "in the set of both": len({other, original}),
        "UUID": isinstance(other, uuid.UUID),
    }
    print(f"{name}:", *(f"{what} {said};" for what, said in seen.items()))
    assert list(seen.values()) == ([True, "order-1", 1, True] if equal else [False, None, 2, False]), seen

made = uuid_utils.uuid7(), fastuuid.uuid7(), uuid_utils.compat.uuid7()
print("made by uuid7:", *(f"{type(value).__module__}.{type(value).__name__};" for value in made))
assert [isinstance(value, uuid.UUID) for value in made] == [False, False, True]
try:
    made[0] < original
    raise SystemExit("it is compared")
except TypeError:
    pass
PYTHON
