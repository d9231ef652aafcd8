#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# APNs' keys have hyphens: content-available, thread-id, interruption-level. What an expression finds by the name as it
# stands, `aps.thread-id`:
#
# - jsonata-python 0.7.1, JSONata: nothing, as the thread less the id is nothing, and no error. `$exists(aps.thread-id)`
#   is false; both `aps.interruption-level = "critical"` and `!=` are false; `$count(pushes[aps.mutable-content = 1])`
#   is 0; `pushes^(aps.relevance-score)` leaves the order as it was.
# - If there are numbers of the two names, it is their difference: `badge-count` of {"badge-count": 3, "badge": 10,
#   "count": 4} is 6.
# - jsonpath-ng 1.16.0 (its arithmetic in `jsonpath_ng.ext` as well) and python-jsonpath 2.2.2, `$.aps.thread-id`: the
#   thread. jmespath 1.1.0: an error.
#
# Between backquotes or quotation marks JSONata finds it.
#
# Guessed before it was run: the key or an error, as one cannot subtract an object's part that is not there.
#
# Whoever routes or counts pushes by such a rule has a rule that holds for none.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jsonata-python==0.7.1 \
  jmespath==1.1.0 jsonpath-ng==1.16.0 python-jsonpath==2.2.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import jmespath
import jsonata
import jsonpath
import jsonpath_ng
import jsonpath_ng.ext

APS = {"thread-id": "order-7", "interruption-level": "critical", "content-available": 1}
PUSHES = [{"id": 1, "aps": {"mutable-content": 1, "relevance-score": 0.9}},
          {"id": 2, "aps": {"mutable-content": 1, "relevance-score": 0.1}}]
DOCUMENT = {"aps": APS, "pushes": PUSHES, "badge-count": 3, "badge": 10, "count": 4}
print(f"jsonata-python {importlib.metadata.version('jsonata-python')}:")
for expression, expected in (
    ("aps.thread-id", None),
    ("aps.content-available", None),
    ("$exists(aps.thread-id)", False),
    ('aps.interruption-level = "critical"', False),
    ('aps.interruption-level != "critical"', False),
    ("$count(pushes[aps.mutable-content = 1])", 0),
    ("pushes^(aps.relevance-score).id", [1, 2]),
    ("pushes^(aps.`relevance-score`).id", [2, 1]),
    ("badge-count", 6),
    ("aps.`thread-id`", "order-7"),
    ('aps."thread-id"', "order-7"),
):
    found = jsonata.Jsonata(expression).evaluate(DOCUMENT)
    print(f"  {expression}: {found}")
    assert found == expected, found
others = {
    "jsonpath-ng": [one.value for one in jsonpath_ng.parse("$.aps.thread-id").find(DOCUMENT)],
    "jsonpath-ng ext": [one.value for one in jsonpath_ng.ext.parse("$.aps.thread-id").find(DOCUMENT)],
    "python-jsonpath": jsonpath.findall("$.aps.thread-id", DOCUMENT),
}
print(others)
assert all(found == ["order-7"] for found in others.values())
try:
    raise SystemExit(f"jmespath: {jmespath.search('aps.thread-id', DOCUMENT)}")
except jmespath.exceptions.ParseError:
    print("jmespath: an error")
PYTHON
