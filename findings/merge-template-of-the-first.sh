#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A template of a payload, {"aps": {"alert": {"title": "Your order"}, "sound": "default"}}, and what is another for each
# user is merged into it. The first has {"aps": {"badge": 3, "alert": {"body": "Anna's"}}}, and the second nothing.
# What the second user's push is, with a function that returns what it has merged:
#
# - deepmerge 4.0.0 (`always_merger.merge`), json-merge-patch 0.3.0 (RFC 7396) and pydash 8.1.0 (`merge`): that of the
#   first, with the badge and "Anna's". With json-merge-patch a {"aps": {"sound": None}} of one user takes the sound
#   away from all who come later.
# - jsonmerge 1.9.2, and jsonpatch 1.48 with the patch that adds the same: the template as it is.
# - pydash and mergedeep 1.3.4 with an empty object first, `merge({}, template, user)`: the template as it is.
#
# The first three write into their first argument, at every depth, and return it.
#
# Guessed before it was run: a function that returns the merged object leaves its arguments alone; the RFC's own
# pseudocode is about values.
#
# Whoever keeps the template in a constant sends one user's text to the next, and each test of one push passes.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: deepmerge==4.0.0 \
  json-merge-patch==0.3.0 pydash==8.1.0 jsonmerge==1.9.2 jsonpatch==1.48 mergedeep==1.3.4
"$folder/python/bin/python" - <<'PYTHON'
import copy
import importlib.metadata

import deepmerge
import json_merge_patch
import jsonmerge
import jsonpatch
import mergedeep
import pydash

plain = {"aps": {"alert": {"title": "Your order"}, "sound": "default"}}
first = {"aps": {"badge": 3, "alert": {"body": "Anna's"}}}
patch = [
    {"op": "add", "path": "/aps/badge", "value": 3},
    {"op": "add", "path": "/aps/alert/body", "value": "Anna's"},
]
both = {"aps": {"alert": {"title": "Your order", "body": "Anna's"}, "sound": "default", "badge": 3}}
ways = {
    "deepmerge": (deepmerge.always_merger.merge, both),
    "json-merge-patch": (json_merge_patch.merge, both),
    "pydash": (pydash.merge, both),
    "jsonmerge": (jsonmerge.merge, plain),
    "jsonpatch": (lambda template, user: jsonpatch.apply_patch(template, patch if user else []), plain),
    "pydash, {}": (lambda template, user: pydash.merge({}, template, user), plain),
    "mergedeep, {}": (lambda template, user: mergedeep.merge({}, template, user), plain),
}
for name, (merge, expected) in ways.items():
    template = copy.deepcopy(plain)
    one = copy.deepcopy(merge(template, copy.deepcopy(first)))
    two = merge(template, {})
    print(f"{name} {importlib.metadata.version(name.split(',')[0])}: {two}")
    assert (one, two) == (both, expected), (one, two)
template = copy.deepcopy(plain)
json_merge_patch.merge(template, {"aps": {"sound": None}})
seen = json_merge_patch.merge(template, {})
print(f"json-merge-patch, after one without a sound: {seen}")
assert seen == {"aps": {"alert": {"title": "Your order"}}}, seen
PYTHON
