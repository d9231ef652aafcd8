#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pywebpush 2.5.0: a program has its claims in a constant, {"sub": "mailto:…"}, and calls `webpush` for two
# subscriptions, which are at two push services. The second service gets a token whose audience (`aud`) is the first
# service, which it has to refuse (RFC 8292). So does each later one, until the process ends, and each service but the
# one that happened to be the first; `webpush_async` does the same.
#
# `aud` and `exp` are written into the caller's dictionary, and an `aud` that is there stays. An `exp` that has passed
# is replaced, and headers of the caller's are copied.
#
# Guessed before it was run: an argument stays as it was, or is made right for each call, since all that it takes for
# that, the subscription, is an argument too.
#
# Whoever sends to browsers of two makers, one by one in a script, sees it work for the maker of the first.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: --no-binary http-ece \
  pywebpush==2.5.0 py-vapid==1.9.6
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import base64
import http.server
import importlib.metadata
import json
import os
import threading

import py_vapid
import pywebpush
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

audiences = []


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        token = self.headers["authorization"].partition("t=")[2].partition(",")[0].split(".")[1]
        audiences.append(json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["aud"])
        self.send_response(201)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


point = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
browser = encode(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(*point))
key = py_vapid.Vapid02()
key.generate_keys()
services = [serve(), serve()]
keys = {"p256dh": browser, "auth": encode(os.urandom(16))}
subscriptions = [{"endpoint": f"{service}/push/1", "keys": keys} for service in services]


async def later(**arguments):
    return await pywebpush.webpush_async(**arguments)


print("pywebpush", importlib.metadata.version("pywebpush"))
for name, send in (
    ("webpush", pywebpush.webpush),
    ("webpush_async", lambda **arguments: asyncio.run(later(**arguments))),
):
    for kind, expected in (("one dictionary", [services[0], services[0]]), ("one each", services)):
        audiences.clear()
        claims = {"sub": "mailto:pushes@example.com"}
        for subscription in subscriptions:
            given = claims if kind == "one dictionary" else dict(claims)
            send(subscription_info=subscription, data="Hello", vapid_private_key=key, vapid_claims=given)
        print(f"  {name}, {kind}: services {services}, audiences {audiences}, claims afterwards {sorted(claims)}")
        assert audiences == expected, audiences
PYTHON
