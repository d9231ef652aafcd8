#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# django-push-notifications 3.3.0 with aioapns 3.3.1, as its extra `apns-async` asks for, Django 5.2.19:
#
# - `send_message(None, content_available=1)`, its documentation's silent message, has an alert with an empty body,
#   and null for badge, sound and thread-id. It has no `apns-push-type`, and no priority of 5, which APNs wants of
#   such pushes.
# - A bulk message to three devices, for one of which APNs answers after 1.3 s and accepts, raises APNSError with
#   "failed", and says nothing of the two others. Each push has one second, which is not to be set, from the start of
#   the whole bulk.
#
# Where there is no alert it makes `Alert(body="")` of it.
#
# What one would guess: a silent message is `{"aps": {"content-available": 1}}` and a background push; and a bulk
# waits for answers as long as the client beneath it does, and gives a result for each device.
#
# Whoever wakes apps with it sends alerts without text, and whoever sends again after the error sends pushes twice.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: django-push-notifications==3.3.0 \
  aioapns==3.3.1 django==5.2.19 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null

SSL_CERT_FILE="$folder/certificate.pem" "$folder/python/bin/python" - "$folder/key.pem" <<'PYTHON'
import json
import logging
import os
import socket
import ssl
import sys
import threading
import time

import aioapns.connection
import django
import django.conf
import h2.config
import h2.connection
import h2.events

logging.disable(logging.CRITICAL)
key, certificate = sys.argv[1], os.environ["SSL_CERT_FILE"]
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
taken = []  # what the server has had, and answered 200


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    pushes, slow = {}, []
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(name, "ascii"): str(value, "ascii") for name, value in dict(event.headers).items()}
                pushes[event.stream_id] = [headers, b""]
            if isinstance(event, h2.events.DataReceived):
                pushes[event.stream_id][1] += event.data
            if isinstance(event, h2.events.StreamEnded):
                headers = pushes[event.stream_id][0]
                taken.append(pushes[event.stream_id])
                answer = event.stream_id, [(":status", "200"), ("apns-id", headers["apns-id"])]
                if headers[":path"].endswith("/cc"):
                    slow.append(answer)
                else:
                    connection.send_headers(*answer, end_stream=True)
        peer.sendall(connection.data_to_send())
        if slow and len(taken) == 3:
            time.sleep(1.3)
            connection.send_headers(*slow.pop(), end_stream=True)
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
threading.Thread(target=accept, daemon=True).start()
aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
aioapns.connection.APNsProductionClientProtocol.APNS_PORT = listener.getsockname()[1]
account = {"APNS_AUTH_KEY_PATH": key, "APNS_AUTH_KEY_ID": "K", "APNS_TEAM_ID": "T", "APNS_TOPIC": "com.example.app"}
applications = ["django.contrib.contenttypes", "django.contrib.auth", "push_notifications"]
django.conf.settings.configure(INSTALLED_APPS=applications, PUSH_NOTIFICATIONS_SETTINGS=account)
django.setup()
from push_notifications import apns_async, models

print("silent:", models.APNSDevice(registration_id="aa").send_message(None, content_available=1))
headers, body = taken.pop()
asked = {name: value for name, value in headers.items() if name in ("apns-push-type", "apns-priority")}
print("  the server has", asked, body.decode())
aps = {"alert": {"body": ""}, "badge": None, "sound": None, "thread-id": None, "content-available": 1}
assert asked == {} and json.loads(body) == {"aps": aps}

try:
    said = apns_async.apns_send_bulk_message(["aa", "bb", "cc"], "Hello")
except Exception as error:
    said = f"{type(error).__name__}: {error}"
print("bulk:", said)
print("  the server has accepted", [headers[":path"] for headers, _ in taken])
assert said == "APNSError: One or more errors failed with errors: TimeoutError", said
assert sorted(headers[":path"][-2:] for headers, _ in taken) == ["aa", "bb", "cc"]
PYTHON
