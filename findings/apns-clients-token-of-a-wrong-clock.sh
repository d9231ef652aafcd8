#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A host's clock is two hours ahead when a client for APNs makes its first provider token, and is then set right. The
# gateway takes tokens whose `iat` is within the last hour, and answers 403 (InvalidProviderToken) to others. A push
# every five minutes, with one client object:
#
# - aioapns 4.0, pyapns-client3 3.0.6 and simple-apns 0.1.2 send the token that was refused with each push, for two
#   hours, until its time has come. All that is sent in between is refused.
# - kalyke-apns 1.5.0, which makes a token for each push, has a 200 for the next one.
#
# They compare the clock with the token's own time, plus 30 to 55 minutes. Neither a 403 nor a token that is from the
# future makes them make another; none of them has a call for it.
#
# Guessed before it was run: a client that makes the tokens makes a new one, sparingly, after it was told that the one
# it has is no good.
#
# Whoever has a host that gets its time after the program has begun sends nothing for as long as the clock was ahead,
# or until someone starts the program again.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
cat > "$folder/look.py" <<'PYTHON'
import asyncio
import base64
import datetime
import json
import logging
import socket
import ssl
import sys
import threading
import time

import h2.config
import h2.connection
import h2.events

folder, name, expected = sys.argv[1:]
logging.disable(logging.CRITICAL)
key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
begin = time.time()
now = begin  # what the time really is, in the test
ahead = 7200  # by how much the sender's clock is wrong
time.time = lambda: now + ahead


class Datetime(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(now + ahead, tz)


datetime.datetime = Datetime
statuses, tokens = [], []


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    requests = {}
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                requests[event.stream_id] = dict(event.headers)
            if isinstance(event, h2.events.StreamEnded):
                headers = requests[event.stream_id]
                tokens.append(headers["authorization"])
                age = now - float(claims(headers["authorization"])["iat"])
                good = -1 <= age <= 3600
                statuses.append(200 if good else 403)
                answer = [(":status", str(statuses[-1])), ("apns-id", headers.get("apns-id", "-"))]
                connection.send_headers(event.stream_id, answer, end_stream=good)
                if not good:
                    connection.send_data(event.stream_id, b'{"reason":"InvalidProviderToken"}', end_stream=True)
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

    client = Client(use_sandbox=False, team_id="T", auth_key_id="K", auth_key_filepath=key)

    async def send():
        await client.send_message("ab", kalyke.Payload(alert="Hello"), kalyke.ApnsConfig(topic=topic))

elif name == "pyapns-client3":
    import pyapns_client as apns

    apns.APNSClient.BASE_URLS = {"prod": url}
    client = apns.APNSClient("prod", apns.TokenBasedAuth(key, "K", "T"), root_cert_path=certificate)

    async def send():
        client.push(apns.IOSNotification(apns.IOSPayload(alert="Hello"), topic), "ab")

elif name == "simple-apns":
    import simple_apns

    client = simple_apns.APNSClient("T", "K", key, topic)
    client.endpoint = url

    async def send():
        client.send_notification("ab", simple_apns.Payload("Hello"))

else:
    import aioapns
    import aioapns.connection

    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port
    client = None

    async def send():
        global client
        if client is None:
            with open(key) as file:
                trust = ssl.create_default_context(cafile=certificate)
                client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic=topic, ssl_context=trust)
        await asyncio.wait_for(client.send_notification(aioapns.NotificationRequest("ab", {"aps": {}})), 20)


async def push():
    try:
        await send()
    except Exception as error:  # each has errors of its own for a 403
        if not statuses or statuses[-1] != 403:
            raise error


async def main():
    global now, ahead
    await push()
    ahead = 0
    while statuses[-1] != 200 and now < begin + 6 * 3600:
        now += 300
        await push()


asyncio.run(main())
refused = statuses.count(403)
said = f"{refused} refused with {len(set(tokens[:refused]))} token(s), the first 200 after {(now - begin) / 60:.0f} min"
print(f"{name}: {said}")
assert said == expected, expected
PYTHON

look() {
  python3 -m venv --clear "$folder/python"
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "$1==$2" h2==4.3.0
  SSL_CERT_FILE="$folder/certificate.pem" "$folder/python/bin/python" -W ignore "$folder/look.py" "$folder" "$1" "$3"
}

look aioapns 4.0 "24 refused with 1 token(s), the first 200 after 120 min"
look pyapns-client3 3.0.6 "24 refused with 1 token(s), the first 200 after 120 min"
look simple-apns 0.1.2 "24 refused with 1 token(s), the first 200 after 120 min"
look kalyke-apns 1.5.0 "1 refused with 1 token(s), the first 200 after 5 min"
