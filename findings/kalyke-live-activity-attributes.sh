#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kalyke-apns 1.2.0 and 1.5.0: a LiveActivityPayload that starts a Live Activity must have attributes_type and
# attributes, or it raises ValueError. It then leaves both out of what it sends: there is no `attributes-type` and no
# `attributes`, without which a device does not know which activity to start. APNs, which does not know the app's
# types, has no reason to refuse.
#
# `dict()` writes five keys of a Live Activity, and these two are not among them.
#
# What one would guess: what the class checks for, it sends.
#
# Whoever starts Live Activities with it gets answers of 200, and no activity.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "kalyke-apns==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json
from datetime import datetime, timezone

from kalyke import models

print("kalyke-apns", importlib.metadata.version("kalyke-apns"))
start = {
    "alert": models.PayloadAlert(title="Pizza", body="On its way"),
    "timestamp": datetime(2026, 11, 18, tzinfo=timezone.utc),
    "event": models.LiveActivityEvent.START,
    "content_state": {"minutes": 20},
}
try:
    models.LiveActivityPayload(**start)
    refused = False
except ValueError as error:
    refused = True
    print(f"  without attributes: ValueError: {str(error).splitlines()[0]}")
sent = models.LiveActivityPayload(**start, attributes_type="Delivery", attributes={"order": 7}).dict()
print(f"  with attributes: {json.dumps(sent)}")
assert refused
assert sent == {
    "aps": {
        "alert": {"title": "Pizza", "body": "On its way"},
        "timestamp": 1794960000,
        "event": "start",
        "content-state": {"minutes": 20},
    }
}, sent
PYTHON
}

look 1.2.0
look 1.5.0
