#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 60 pushes of 4,000 bytes go at once on a connection that has sent one before. The server allows 1,000 streams, and
# gives back the room for each body as it reads it, as HTTP/2 has it: 65,535 bytes may be on the way at a time.
#
# - httpx 0.28.1 begins 60 streams and waits for the room. The server has 60 pushes.
# - aioapns 4.0 sends 16, and of each of the others the header fields without a body. It leaves those streams open,
#   waits for a second, and begins another for each push that is left: more than 100 streams for 60 pushes, in some
#   seconds. The rest stay half begun for as long as the connection lives.
#
# All 60 are answered with 200. Of 300 at once some were given up after five such tries (MaxAttemptsExceeded).
#
# Guessed before it was run: it waits until there is room, and then sends the body on the stream that it has begun.
#
# Whoever sends a campaign so fills the streams that a gateway allows with halves, which take the place of pushes, and
# needs a second for what is on the way in a moment.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 httpx==0.28.1 \
  httpcore==1.0.9 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import collections
import json
import logging
import socket
import ssl
import sys
import threading
import time

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events
import h2.settings
import httpx

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
streams = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS
begun, ended, connections = [], [], []


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connections.append(peer)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    connection.update_settings({streams: 1000})
    peer.sendall(connection.data_to_send())
    ids = {}
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                ids[event.stream_id] = dict(event.headers).get("apns-id", "-")
                begun.append(event.stream_id)
            if isinstance(event, h2.events.DataReceived):
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if isinstance(event, h2.events.StreamEnded):
                ended.append(event.stream_id)
                answer = [(":status", "200"), ("apns-id", ids[event.stream_id])]
                connection.send_headers(event.stream_id, answer, end_stream=True)
        peer.sendall(connection.data_to_send())


def quietly(plain):
    try:
        serve(plain)
    except OSError:
        pass  # the client has left


def accept():
    while True:
        threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
threading.Thread(target=accept, daemon=True).start()
trust = ssl.create_default_context(cafile=certificate)
body = {"aps": {"alert": "x" * 3978}}
assert len(json.dumps(body)) == 4000


async def burst(send):
    for pushes in 1, 60:
        for seen in begun, ended:
            seen.clear()
        began = time.monotonic()
        statuses = collections.Counter(await asyncio.gather(*(send() for _ in range(pushes))))
    return statuses, time.monotonic() - began


async def with_httpx():
    async with httpx.AsyncClient(http1=False, http2=True, verify=trust, timeout=60, trust_env=False) as client:

        async def send():
            return str((await client.post(f"https://localhost:{port}/3/device/ab", json=body)).status_code)

        return await burst(send)


async def with_aioapns():
    protocol = aioapns.connection.APNsProductionClientProtocol
    protocol.APNS_SERVER, protocol.APNS_PORT = "localhost", port
    with open(key) as file:
        client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)

    async def send():
        return (await asyncio.wait_for(client.send_notification(aioapns.NotificationRequest("ab", body)), 60)).status

    return await burst(send)


def look(client):
    connections.clear()
    statuses, took = asyncio.run(client())
    name = client.__name__.removeprefix("with_")
    print(f"{name}: {dict(statuses)} in {took:.1f} s; streams begun: {len(begun)}, ended: {len(ended)}")
    assert statuses == {"200": 60} and len(ended) == 60 and len(connections) == 1
    return len(begun), took


assert look(with_httpx)[0] == 60
count, took = look(with_aioapns)
assert count > 100 and took > 1, (count, took)
PYTHON
