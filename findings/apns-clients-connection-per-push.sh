#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten pushes, one after the other, with one client object and a key (.p8), and what the server has of them:
#
# - aioapns 4.0 and simple-apns 0.1.2: one connection, one provider token.
# - pyapns-client3 3.0.6: ten connections, one provider token. It gives httpx `max_keepalive_connections=0`, so that
#   each connection of HTTP/2 ends with its first answer.
# - kalyke-apns 1.5.0: ten connections, and a new provider token for each push. It makes a client of HTTP for each.
#
# APNs asks to keep connections open and takes quick opening and closing for an attack; it answers 429
# (TooManyProviderTokenUpdates) to who comes with new tokens more often than once in 20 minutes.
#
# What one would guess: what is a client for HTTP/2 with one key has one connection, and makes a token that it
# keeps.
#
# Whoever sends a few pushes sees nothing of it; whoever sends many is slow, and then refused.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
cat > "$folder/count.py" <<'PYTHON'
import asyncio
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.events

folder, name, expected = sys.argv[1:]
key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
connections, tokens, pushes = [], set(), []


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connections.append(peer)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(name, "ascii"): str(value, "ascii") for name, value in dict(event.headers).items()}
                tokens.add(headers["authorization"])
                name = headers.get("apns-id", "11111111-1111-4111-8111-111111111111")
            if isinstance(event, h2.events.StreamEnded):
                pushes.append(event.stream_id)
                connection.send_headers(event.stream_id, [(":status", "200"), ("apns-id", name)], end_stream=True)
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
url = f"https://localhost:{port}"
threading.Thread(target=accept, daemon=True).start()
topic = "com.example.app"

if name == "kalyke-apns":
    import kalyke

    class Client(kalyke.ApnsClient):
        _base_url = url

    async def send():
        client = Client(use_sandbox=False, team_id="T", auth_key_id="K", auth_key_filepath=key)
        for _ in range(10):
            await client.send_message("ab", kalyke.Payload(alert="Hello"), kalyke.ApnsConfig(topic=topic))

    asyncio.run(send())
elif name == "pyapns-client3":
    import pyapns_client as apns

    apns.APNSClient.BASE_URLS = {"prod": url}
    with apns.APNSClient("prod", apns.TokenBasedAuth(key, "K", "T"), root_cert_path=certificate) as client:
        for _ in range(10):
            client.push(apns.IOSNotification(apns.IOSPayload(alert="Hello"), topic), "ab")
elif name == "simple-apns":
    import simple_apns

    client = simple_apns.APNSClient("T", "K", key, topic)
    client.endpoint = url
    for _ in range(10):
        client.send_notification("ab", simple_apns.Payload("Hello"))
else:
    import aioapns
    import aioapns.connection

    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port

    async def send():
        with open(key) as file:
            trust = ssl.create_default_context(cafile=certificate)
            client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic=topic, ssl_context=trust)
        for _ in range(10):
            await client.send_notification(aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}}))

    asyncio.run(send())
seen = f"{len(connections)} connections, {len(tokens)} tokens"
print(f"{name}: {len(pushes)} pushes, {seen}")
assert seen == expected and len(pushes) == 10, expected
PYTHON

look() {
  python3 -m venv --clear "$folder/python"
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "$1==$2" h2==4.3.0
  SSL_CERT_FILE="$folder/certificate.pem" "$folder/python/bin/python" "$folder/count.py" "$folder" "$1" "$3"
}

look aioapns 4.0 "1 connections, 1 tokens"
look simple-apns 0.1.2 "1 connections, 1 tokens"
look pyapns-client3 3.0.6 "10 connections, 1 tokens"
look kalyke-apns 1.5.0 "10 connections, 10 tokens"
