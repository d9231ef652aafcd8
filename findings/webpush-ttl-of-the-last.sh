#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# webpush 1.0.6: `get(message, subscription, ttl=…)` makes one push with its own time to live, where the object it is
# called on has another for all. That of the one stays for all that come after:
#
# - The object has none, which is 0: "try once, keep nothing". After a push with `ttl=86400`, the next without `ttl` has
#   86400 too, and so has one with `ttl=0`. With `ttl=60` it is 60, from then on.
# - `subscriber=` and `expiration=` of one push are those of the next, for other users, in the same way.
#
# They are written into the object, and 0 is taken for "not given". pywebpush 2.5.0 sends of `ttl` what it was given in
# each call, and 0 without.
#
# What one would guess: an argument of one message is for that message, since the constructor has the same names and
# calls them global.
#
# Whoever sends codes for a login, which are good now or never, with the object that sends news, has the push service
# keep them for a day, and deliver them when the phone is on again.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: --no-binary http-ece \
  webpush==1.0.6 pywebpush==2.5.0 py-vapid==1.9.6
"$folder/python/bin/python" - <<'PYTHON'
import base64
import http.server
import json
import os
import threading

import py_vapid
import pywebpush
import webpush
import webpush.types
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


point = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
browser = encode(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*point))
keys = {"p256dh": browser, "auth": encode(os.urandom(16))}
private, public, _ = webpush.VAPID.generate_keys()
pushes = webpush.WebPush(private_key=private, public_key=public, subscriber="pushes@example.com")
subscription = webpush.types.WebPushSubscription(endpoint="https://push.example.com/1", keys=keys)


def with_webpush(**arguments):
    headers = pushes.get("Hello", subscription, **arguments).headers
    headers = headers if isinstance(headers, dict) else headers.model_dump()
    payload = headers["authorization"].partition("t=")[2].partition(",")[0].split(".")[1]
    return headers["ttl"], json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"]


seen = []


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        seen.append(self.headers["ttl"])
        self.send_response(201)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
key = py_vapid.Vapid02()
key.generate_keys()


def with_pywebpush(**arguments):
    claims = {"sub": "mailto:pushes@example.com"}
    where = {"endpoint": f"http://127.0.0.1:{server.server_port}/1", "keys": keys}
    pywebpush.webpush(where, "Hello", vapid_private_key=key, vapid_claims=claims, **arguments)
    return seen.pop()


for arguments, by_webpush, by_pywebpush in (
    ({}, "0", "0"),
    ({"ttl": 86400}, "86400", "86400"),
    ({}, "86400", "0"),
    ({"ttl": 0}, "86400", "0"),
    ({"ttl": 60}, "60", "60"),
    ({}, "60", "0"),
):
    said = with_webpush(**arguments)[0], with_pywebpush(**arguments)
    print(f"{arguments}: TTL {said[0]} of webpush, {said[1]} of pywebpush")
    assert said == (by_webpush, by_pywebpush), said

subjects = [with_webpush(**arguments)[1] for arguments in ({}, {"subscriber": "other@example.com"}, {})]
print(f"subjects of three pushes, of which the second has its own: {subjects}")
assert subjects == ["mailto:pushes@example.com", "mailto:other@example.com", "mailto:other@example.com"], subjects
PYTHON
