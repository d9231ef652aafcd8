#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# One notification for two devices of a user, sent at the same time with the same apns-id. APNs says of the first
# device that it is unregistered (410), and takes the push for the second (200). aioapns 4.0 gives the 410 to the
# caller who sent to the second device. The caller who sent to the first has no answer. With an id for each push, both
# have theirs.
#
# It keeps who waits for an answer by apns-id, so the second push takes the place of the first, and not by stream.
#
# What one would guess: an answer belongs to the stream that it came on, as for every client of HTTP/2.
#
# Whoever uses the id of a message as apns-id strikes out the tokens of devices that are alive, and keeps those that
# are dead.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import logging
import socket
import ssl
import sys
import threading

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])


def serve():
    peer = tls.wrap_socket(listener.accept()[0], server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    had, ended = {}, []
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(name, "ascii"): str(value, "ascii") for name, value in dict(event.headers).items()}
                had[event.stream_id] = headers[":path"].rsplit("/")[-1], headers["apns-id"]
            if isinstance(event, h2.events.StreamEnded):
                ended.append(event.stream_id)
        # Both are answered when both are there, the dead one first; what is sent alone, at once.
        if ended and (len(ended) == 2 or had[ended[0]][0] == "warm"):
            for stream in sorted(ended, key=lambda stream: had[stream][0]):
                token, name = had[stream]
                status = "410" if token == "dead" else "200"
                connection.send_headers(stream, [(":status", status), ("apns-id", name)], end_stream=status == "200")
                if status == "410":
                    body = b'{"reason":"Unregistered","timestamp":1795000000000}'
                    connection.send_data(stream, body, end_stream=True)
            ended.clear()
        peer.sendall(connection.data_to_send())


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, daemon=True).start()
aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
aioapns.connection.APNsProductionClientProtocol.APNS_PORT = listener.getsockname()[1]
trust = ssl.create_default_context(cafile=certificate)
one, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


async def push(client, token, name):
    request = aioapns.NotificationRequest(token, {"aps": {"alert": "Hello"}}, notification_id=name)
    try:
        result = await asyncio.wait_for(client.send_notification(request), 5)
        return f"{result.status} {result.description or ''}".strip()
    except asyncio.TimeoutError:
        return "no answer in 5 s"


async def run():
    with open(key) as file:
        client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)
    await push(client, "warm", other)  # there is one connection
    for ids, expected in (
        ((one, other), ["410 Unregistered", "200"]),
        ((one, one), ["no answer in 5 s", "410 Unregistered"]),
    ):
        seen = await asyncio.gather(push(client, "dead", ids[0]), push(client, "live", ids[1]))
        print(f"{'one apns-id' if ids[0] == ids[1] else 'two apns-ids'}: dead: {seen[0]}; live: {seen[1]}")
        assert seen == expected, seen


asyncio.run(run())
PYTHON
