#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Zero means something to APNs: `apns-expiration: 0` is "try once, keep nothing", and a badge of 0 takes the badge
# away. What client libraries send of a push that is made with expiration=0 and badge=0:
#
# - kalyke-apns 1.5.0: both.
# - pyapns-client3 3.0.6 and simple-apns 0.1.2: the badge, and no `apns-expiration`, as if none had been asked for.
# - aapns 23.7: neither, and no error.
#
# Those that leave a zero out ask `if expiration` or `if self.badge`.
#
# What one would guess: a library that has the parameter, and None for "not given", sends the number.
#
# Whoever sends a code for a login with expiration=0 may have APNs keep it and deliver it much later; badges do not go
# away.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
cat "$folder/key.pem" "$folder/certificate.pem" > "$folder/both.pem"
cat > "$folder/zero.py" <<'PYTHON'
import asyncio
import json
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.events

folder, name, expected = sys.argv[1:]
key, certificate, both = (f"{folder}/{file}.pem" for file in ("key", "certificate", "both"))
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
seen = {}


def serve():
    peer = tls.wrap_socket(listener.accept()[0], server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    body = b""
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(name, "ascii"): str(value, "ascii") for name, value in dict(event.headers).items()}
                seen["apns-expiration"] = headers.get("apns-expiration")
            if isinstance(event, h2.events.DataReceived):
                body += event.data
            if isinstance(event, h2.events.StreamEnded):
                seen["badge"] = json.loads(body)["aps"].get("badge")
                answer = [(":status", "200"), ("apns-id", "11111111-1111-4111-8111-111111111111")]
                connection.send_headers(event.stream_id, answer, end_stream=True)
        peer.sendall(connection.data_to_send())


listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
url = f"https://localhost:{port}"
threading.Thread(target=serve, daemon=True).start()
topic = "com.example.app"

if name == "kalyke-apns":
    import kalyke

    class Client(kalyke.ApnsClient):
        _base_url = url

    client = Client(use_sandbox=False, team_id="T", auth_key_id="K", auth_key_filepath=key)
    config = kalyke.ApnsConfig(topic=topic, expiration=0)
    asyncio.run(client.send_message("ab", kalyke.Payload(alert="Hello", badge=0), config))
elif name == "pyapns-client3":
    import pyapns_client as apns

    apns.APNSClient.BASE_URLS = {"prod": url}
    client = apns.APNSClient("prod", apns.TokenBasedAuth(key, "K", "T"), root_cert_path=certificate)
    client.push(apns.IOSNotification(apns.IOSPayload(alert="Hello", badge=0), topic, expiration=0), "ab")
elif name == "simple-apns":
    import simple_apns

    client = simple_apns.APNSClient("T", "K", key, topic)
    client.endpoint = url
    client.send_notification("ab", simple_apns.Payload("Hello").set_badge(0), expiration=0)
else:
    from aapns import api, models

    async def send():
        client = await api.Server(both, "localhost", port, certificate, 1).create_client()
        push = models.Notification(models.Alert("Hello"), badge=0)
        await client.send_notification("ab", push, topic=topic, expiration=0)
        await client.close()

    asyncio.run(send())
print(f"{name}: {json.dumps(seen)}")
assert json.dumps(seen) == expected, expected
PYTHON

look() {
  python3 -m venv --clear "$folder/python"
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "$1==$2" ${4:-}
  SSL_CERT_FILE="$folder/certificate.pem" "$folder/python/bin/python" "$folder/zero.py" "$folder" "$1" "$3"
}

look kalyke-apns 1.5.0 '{"apns-expiration": "0", "badge": 0}'
look pyapns-client3 3.0.6 '{"apns-expiration": null, "badge": 0}'
look simple-apns 0.1.2 '{"apns-expiration": null, "badge": 0}'
look aapns 23.7 '{"apns-expiration": null, "badge": null}'
