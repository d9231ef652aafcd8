#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program looks whether a payload has a badge, `if payload.aps.badge:`, and whether it is of an order, `if
# payload.order.id == 7:`. It has neither: {"aps": {"alert": "Hi"}}. What it sends then:
#
# - DotMap 1.3.30: {"aps": {"alert": "Hi", "badge": {}}, "order": {"id": {}}}. Both were made by the look. `"badge" in
#   payload.aps` is true from then on.
# - python-box 8.0.0 with `default_box=True`, and addict 2.4.0: what it was, by the same look.
#
# Guessed before it was run: to read does not write.
#
# APNs refuses a badge that is an object. Whoever adds a line to a log, of a key that most payloads do not have, has
# those refused.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: dotmap==1.3.30 python-box==8.0.0 \
  addict==2.4.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json

import addict
import box
import dotmap

PAYLOAD = {"aps": {"alert": "Hi"}}
LOOKED_AT = {"aps": {"alert": "Hi", "badge": {}}, "order": {"id": {}}}
for name, make, expected in (
    ("dotmap", lambda: dotmap.DotMap(PAYLOAD), LOOKED_AT),
    ("python-box", lambda: box.Box(PAYLOAD, default_box=True), PAYLOAD),
    ("addict", lambda: addict.Dict(PAYLOAD), PAYLOAD),
):
    payload = make()
    if payload.aps.badge:
        raise SystemExit("there is a badge")
    if payload.order.id == 7:
        raise SystemExit("there is an order")
    sent = json.dumps(payload.toDict() if name == "dotmap" else payload.to_dict())
    print(f"{name} {importlib.metadata.version(name)}: {sent}")
    assert json.loads(sent) == expected, sent
    assert ("badge" in payload.aps) == (name == "dotmap")
PYTHON
