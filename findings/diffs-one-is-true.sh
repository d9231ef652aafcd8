#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A silent push has `"content-available": 1`, a number. A program's new release has `true` there, which is another thing
# in JSON. What a comparison of the two payloads says:
#
# - jsondiff 2.2.1 and dictdiffer 0.10.0: no difference. So it is with 0 and false, and in a list.
# - deepdiff 9.1.0: 1 has become true, in an object; in a list, no difference.
# - jsonpatch 1.48, `make_patch`: 1 has become true, in both.
#
# Guessed before it was run: a library that compares JSON knows a number from a truth value, though Python's `==` does
# not.
#
# Whoever compares what two releases send, or checks a payload in a test, finds them equal, and the devices have
# another.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jsondiff==2.2.1 \
  dictdiffer==0.10.0 jsonpatch==1.48 deepdiff==9.1.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import deepdiff
import dictdiffer
import jsondiff
import jsonpatch

PAIRS = [
    ({"aps": {"content-available": 1}}, {"aps": {"content-available": True}}),
    ({"aps": {"badge": 0}}, {"aps": {"badge": False}}),
    ({"order": [1, 7]}, {"order": [True, 7]}),
]
for name, differ, expected in (
    ("jsondiff", jsondiff.diff, [False, False, False]),
    ("dictdiffer", lambda old, new: list(dictdiffer.diff(old, new)), [False, False, False]),
    ("jsonpatch", lambda old, new: list(jsonpatch.make_patch(old, new)), [True, True, True]),
    ("deepdiff", deepdiff.DeepDiff, [True, True, False]),
):
    found = [differ(old, new) for old, new in PAIRS]
    print(f"{name} {importlib.metadata.version(name)}: {found}")
    assert [bool(one) for one in found] == expected, found
assert jsondiff.diff({"aps": {"badge": 1}}, {"aps": {"badge": 2}})
assert list(dictdiffer.diff({"aps": {"badge": 1}}, {"aps": {"badge": 2}}))
PYTHON
