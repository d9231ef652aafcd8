#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An id of a push is a ULID, and comes back as text. ulid-transform 2.2.9, `ulid_to_bytes`, reads any 26 characters,
# with no error:
#
# - Three ids whose last characters are U, ! and -, which no ULID has, are one id, the same 16 bytes.
# - "this-is-no-identifier-yet!", which is no id at all, is one, of another time.
# - 8ZZZZZZZZZZZZZZZZZZZZZZZZZ, which has more than 128 bits, is what 0ZZZZZZZZZZZZZZZZZZZZZZZZZ is.
#
# Only another number of characters is an error. `ulid_to_timestamp` has a time for each of these as well. python-ulid
# 4.1.0 and ulid-py 1.1.0 refuse all of them.
#
# Guessed before it was run: what is no ULID is an error, as the letters I, L, O and U and a first character above 7 are
# left out of it by its specification.
#
# Whoever takes ids from callers and keeps them in 16 bytes has one id for several, and drops the second as one that has
# been sent.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: ulid-transform==2.2.9
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  --target "$folder/a" python-ulid==4.1.0
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  --target "$folder/b" ulid-py==1.1.0

cat > "$folder/look.py" <<'PYTHON'
import sys

import ulid
import ulid_transform

read = ulid.from_str if sys.argv[1] == "ulid-py" else ulid.ULID.from_str
good = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
assert ulid_transform.ulid_to_bytes(good) == read(good).bytes == ulid_transform.ulid_to_bytes(good.lower())
texts = [good[:-1] + last for last in "U!-"] + ["this-is-no-identifier-yet!", "8" + "Z" * 25]
ids = [ulid_transform.ulid_to_bytes(text) for text in texts]
for text, one in zip(texts, ids):
    try:
        other = read(text).bytes.hex()
    except ValueError:
        other = "ValueError"
    print(f"{text}: ulid-transform {one.hex()}, {ulid_transform.ulid_to_timestamp(text)}; {sys.argv[1]} {other}")
    assert other == "ValueError", other
assert ids[0] == ids[1] == ids[2] and ids[4] == ulid_transform.ulid_to_bytes("0" + "Z" * 25)
try:
    ulid_transform.ulid_to_bytes(good[:-1])
    raise AssertionError
except ValueError as error:
    print(error)
PYTHON

PYTHONPATH="$folder/a" "$folder/python/bin/python" "$folder/look.py" python-ulid
PYTHONPATH="$folder/b" "$folder/python/bin/python" "$folder/look.py" ulid-py
