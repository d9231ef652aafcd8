#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same 410 with the same body, once in one DATA frame of HTTP/2, once in two. Of the first aioapns 4.0 gives its caller
# the 410. Of the second it takes half a body for a JSON document, drops the connection, and sends the push again on
# another: five times in all, to a token that the server has called dead each time. Then it raises MaxAttemptsExceeded.
# httpx 0.28.1 and curl 7.88.1 have the 410 and the whole body in both cases, and send once.
#
# Guessed before it was run: frames are no boundaries that a client looks at (a server or a proxy cuts them as it likes),
# and every client gives the status and the reason.
#
# Whoever prunes device tokens by what it reports keeps such tokens, and each push to them costs five connections.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 httpx==0.28.1 \
  httpcore==1.0.9 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import logging
import socket
import ssl
import subprocess
import sys
import threading

import aioapns
import aioapns.connection
import aioapns.exceptions
import h2.config
import h2.connection
import h2.events
import httpx

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
body = b'{"reason":"Unregistered","timestamp":1795000000000}'
frames = [body]
taken = 0


def serve(plain):
    global taken
    peer = tls.wrap_socket(plain, server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    requests = {}
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                requests[event.stream_id] = dict(event.headers)[b"apns-id"]
            if isinstance(event, h2.events.StreamEnded):
                taken += 1
                stream = event.stream_id
                connection.send_headers(stream, [(b":status", b"410"), (b"apns-id", requests[stream])])
                for frame in frames:
                    connection.send_data(stream, frame, end_stream=frame is frames[-1])
        peer.sendall(connection.data_to_send())


def quietly(plain):
    try:
        serve(plain)
    except OSError:
        pass  # the client has left


def accept(listener):
    while True:
        threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
threading.Thread(target=accept, args=(listener,), daemon=True).start()
url = f"https://localhost:{port}/3/device/ab"
trust = ssl.create_default_context(cafile=certificate)
push = "11111111-1111-4111-8111-111111111111"


def with_curl():
    line = ["curl", "-sS", "--max-time", "20", "--http2", "--cacert", certificate, "-H", f"apns-id: {push}", "-d", "{}"]
    said = subprocess.run([*line, "-w", "%{http_code}", url], capture_output=True, check=True).stdout
    assert said.startswith(body), said
    return said.removeprefix(body).decode()


def with_httpx():
    with httpx.Client(http1=False, http2=True, verify=trust) as client:
        answer = client.post(url, content=b"{}", headers={"apns-id": push})
    assert answer.content == body, answer.content
    return str(answer.status_code)


def with_aioapns():
    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port

    async def send():
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        with open(key) as file:
            client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)
        request = aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}}, notification_id=push)
        try:
            return (await asyncio.wait_for(client.send_notification(request), 60)).status
        except aioapns.exceptions.MaxAttemptsExceeded as error:
            return type(error).__name__

    return asyncio.run(send())


for frames in ([body], [body[:16], body[16:]]):
    for client in (with_curl, with_httpx, with_aioapns):
        taken = 0
        said = client()
        name = client.__name__.removeprefix("with_")
        print(f"{len(frames)} frame(s), {name}: {said}; the server has had it {taken} time(s)")
        if client is with_aioapns and len(frames) == 2:
            assert (said, taken) == ("MaxAttemptsExceeded", 5), (said, taken)
        else:
            assert (said, taken) == ("410", 1), (said, taken)
PYTHON
