#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# firebase-admin 6.9.0 and 7.7.0 leave out what is empty, of the caller's own keys, in the payload for APNs: a list
# `[]`, an object `{}` and null, beside `aps` and in it. 0, false and "" stay, and so does what is empty one level
# below.
#
# So a push that ends a Live Activity with `"content-state": {}`, which a state with optional fields only may be, has
# no content-state, and one that says `"unread": []` says nothing about the unread.
#
# Its encoder removes from each object that it makes what is None, [] or {}, also after it has added the caller's
# keys.
#
# What one would guess: the parameters that are not given are left out, and custom data goes as it is.
#
# Whoever tells the app with an empty list that nothing is left leaves it with the last list.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "firebase-admin==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import json
import warnings

import firebase_admin
from firebase_admin import credentials, messaging
import google.auth.credentials
from unittest import mock

warnings.simplefilter("ignore")


class Nobody(credentials.Base):
    def get_credential(self):
        return mock.Mock(google.auth.credentials.Credentials)


# What would be sent, at the place where the library hands it to its connection.
app = firebase_admin.initialize_app(Nobody(), {"projectId": "example"})
sent = []


def request(self, method, url, **arguments):
    sent.append(arguments["json"]["message"]["apns"]["payload"])
    return {"name": "projects/example/messages/1"}


stays = {"zero": 0, "no": False, "text": "", "below": {"list": [], "null": None}}
empty = {"list": [], "object": {}, "null": None, **stays}
with mock.patch("firebase_admin._http_client.JsonHttpClient.body", request):
    aps = messaging.Aps(content_available=True, custom_data={"event": "end", "content-state": {}, **empty})
    payload = messaging.APNSPayload(aps=aps, unread=[], **empty)
    messaging.send(messaging.Message(token="t", apns=messaging.APNSConfig(payload=payload)), app=app)
    sent = [json.loads(json.dumps(sent[0]))]
print("firebase-admin", firebase_admin.__version__)
print(" ", json.dumps(sent[0]))
assert sent[0] == {"aps": {"content-available": 1, "event": "end", **stays}, **stays}, sent
PYTHON
}

look 6.9.0
look 7.7.0
