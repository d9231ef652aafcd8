#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `publish_multiple` of exponent-server-sdk 2.2.0 sends pushes to Expo's service in hundreds. Of a list of 250 messages
# it sends 250. Of a generator of the same it sends the first 100 and the last 50, and returns 150 tickets, with no
# error; those between are gone. Of a generator of 1,000 it sends 400. `check_receipts_multiple`, which goes by
# thousands, leaves out tickets in the same way.
#
# For each hundred it passes over as many as it has sent before, which a list still has and a generator has not.
#
# What one would guess: an iterable is sent whole, or it is refused, as something that cannot be sent in parts.
#
# Whoever gives it what a query yields, row by row, so as not to hold all of it, does not reach most of the users. With
# less than a hundred, as in a test, it is right.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  exponent-server-sdk==2.2.0 requests==2.32.5 six==1.17.0
"$folder/python/bin/python" - <<'PYTHON'
import http.server
import json
import threading

import exponent_server_sdk

taken, asked = [], []


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/push/send"):
            taken.extend(int(message["body"]) for message in body)
            data = [{"status": "ok", "id": message["body"]} for message in body]
        else:
            asked.extend(body["ids"])
            data = {one: {"status": "ok"} for one in body["ids"]}
        answer = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = exponent_server_sdk.PushClient(host=f"http://127.0.0.1:{server.server_port}")


def messages(count):
    for number in range(count):
        yield exponent_server_sdk.PushMessage(to=f"ExponentPushToken[{number}]", body=str(number))


for count, expected in (
    (90, [*range(90)]),
    (250, [*range(100), *range(200, 250)]),
    (1000, [number for number in range(1000) if number // 100 in (0, 2, 5, 9)]),
):
    for kind, given, right in (
        ("list", list(messages(count)), [*range(count)]),
        ("generator", messages(count), expected),
    ):
        taken.clear()
        tickets = client.publish_multiple(given)
        print(f"{count} messages in a {kind}: {len(taken)} sent, {len(tickets)} tickets")
        assert taken == right and len(tickets) == len(right), len(taken)

tickets = client.publish_multiple(list(messages(2500)))
for kind, given, right in (("list", tickets, 2500), ("generator", (one for one in tickets), 1500)):
    asked.clear()
    receipts = client.check_receipts_multiple(given)
    print(f"2500 tickets in a {kind}: {len(asked)} asked for, {len(receipts)} receipts")
    assert len(asked) == len(receipts) == right, len(asked)
PYTHON
