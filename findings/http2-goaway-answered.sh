#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server that ends a connection gracefully sends GOAWAY with NO_ERROR and the last stream that it takes, and then answers
# what is open (RFC 9113, 6.8). Here it does so for the one request that is open, and answers 200 on its stream 0.3 s later:
#
# - curl 7.88.1 and nghttp 1.52.0 (those of Debian 12) wait and get the 200.
# - httpx 0.28.1 with httpcore 1.0.9 raises RemoteProtocolError at the GOAWAY.
# - aioapns 4.0, a client for APNs, closes the connection at the GOAWAY and sends the push again on another, under the same
#   apns-id: the server has taken it twice. The caller learns of one 200.
#
# Guessed before it was run: every client takes an answer on a stream up to the last one that GOAWAY names, and sends anew
# only what is above it.
#
# Whoever sends pushes with these reports accepted ones as failed, or sends them twice, whenever the gateway ends a
# connection in an orderly way.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
nghttp --version | grep -qx 'nghttp nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 httpx==0.28.1 \
  httpcore==1.0.9 h2==4.3.0 hyperframe==6.1.0
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
import time

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events
import httpx
import hyperframe.frame

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
taken = []  # the apns-id of every request that the server has had in full


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    requests = {}
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                requests[event.stream_id] = dict(event.headers).get(b"apns-id", b"").decode()
            if isinstance(event, h2.events.StreamEnded):
                name = requests[event.stream_id]
                taken.append(name)
                peer.sendall(connection.data_to_send())
                if len(taken) == 1:
                    # Not by the library, whose connection would be over with it.
                    goaway = hyperframe.frame.GoAwayFrame(0, last_stream_id=event.stream_id, error_code=0)
                    peer.sendall(goaway.serialize())
                    time.sleep(0.3)
                connection.send_headers(event.stream_id, [(":status", "200"), ("apns-id", name)], end_stream=True)
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
    return subprocess.run([*line, "-w", "%{http_code}", url], capture_output=True, text=True, check=True).stdout


def with_nghttp():
    line = ["nghttp", "-v", "-y", "-t", "20", "-H", f"apns-id: {push}", "-d", certificate, url]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return next(part.split()[-1] for part in said.splitlines() if ":status: " in part)


def with_httpx():
    with httpx.Client(http1=False, http2=True, verify=trust) as client:
        try:
            return str(client.post(url, content=b"{}", headers={"apns-id": push}).status_code)
        except httpx.RemoteProtocolError as error:
            return f"RemoteProtocolError: {error}"


def with_aioapns():
    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port

    async def send():
        with open(key) as file:
            client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)
        request = aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}}, notification_id=push)
        return (await asyncio.wait_for(client.send_notification(request), 20)).status

    return asyncio.run(send())


def look(client, says, times):
    taken.clear()
    said = client()
    print(f"{client.__name__.removeprefix('with_')}: {said}; the server has taken it {len(taken)} time(s)")
    assert said.startswith(says) and taken == [push] * times, (said, taken)


look(with_curl, "200", 1)
look(with_nghttp, "200", 1)
look(with_httpx, "RemoteProtocolError: <ConnectionTerminated error_code:0, last_stream_id:1", 1)
look(with_aioapns, "200", 2)
PYTHON
