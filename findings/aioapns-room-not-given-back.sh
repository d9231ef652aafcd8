#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server refuses each push with 410 and a body of 51 bytes, one after the other on one connection of HTTP/2. After
# 1,285 answers aioapns 4.0 gets none any more: it takes the bodies and never gives back the room for them
# (WINDOW_UPDATE), so that the 65,535 bytes that a connection begins with are used up. The server has the next push, and
# sends its status, but may not send the reason, without which aioapns tells the caller nothing. httpx 0.28.1 has 2,000
# answers of the same server on one connection.
#
# What one would guess: a client of HTTP/2 gives back what it has read, as h2, which both use, has a function for.
#
# Whoever sends without a pause to many devices, of which some are gone, waits forever for one push, and then for each
# that is refused. A connection ends when nothing was sent on it for ten seconds, so that a test does not show it.
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
import logging
import ssl
import sys

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events
import httpx

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
trust = ssl.create_default_context(cafile=certificate)
body = b'{"reason":"Unregistered","timestamp":1795000000000}'
connections = taken = 0


async def serve(reader, writer):
    global connections, taken
    connections += 1
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    writer.write(connection.data_to_send())
    pushes, waiting = {}, []
    try:
        while data := await reader.read(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    pushes[event.stream_id] = dict(event.headers).get(b"apns-id", b"")
                if isinstance(event, h2.events.DataReceived):
                    connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if isinstance(event, h2.events.StreamEnded):
                    taken += 1
                    answer = [(":status", "410"), ("apns-id", pushes.pop(event.stream_id))]
                    connection.send_headers(event.stream_id, answer)
                    waiting.append(event.stream_id)
            while waiting and connection.local_flow_control_window(waiting[0]) >= len(body):
                connection.send_data(waiting.pop(0), body, end_stream=True)
            writer.write(connection.data_to_send())
    except (OSError, asyncio.CancelledError):
        pass  # the client has left, or all is over
    finally:
        writer.close()


async def with_aioapns(port):
    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port
    with open(key) as file:
        client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)
    answers = 0
    while answers < 2000:
        push = aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}})
        try:
            result = await asyncio.wait_for(client.send_notification(push), 5)
        except TimeoutError:
            break
        assert (result.status, result.description) == ("410", "Unregistered"), result.status
        answers += 1
    return answers


async def with_httpx(port):
    async with httpx.AsyncClient(http1=False, http2=True, verify=trust) as client:
        for _ in range(2000):
            answer = await client.post(f"https://localhost:{port}/3/device/ab", content=b"{}")
            assert (answer.status_code, answer.content) == (410, body), answer.status_code
    return 2000


async def main():
    global connections, taken
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    for send, expected in ((with_httpx, (2000, 2000, 1)), (with_aioapns, (1285, 1286, 1))):
        connections = taken = 0
        answers = await send(server.sockets[0].getsockname()[1])
        print(f"{send.__name__}: {answers} answers to {taken} pushes on {connections} connection(s)")
        assert (answers, taken, connections) == expected


print(f"65,535 bytes are {65535 // len(body)} bodies of {len(body)}")
asyncio.run(main())
PYTHON
