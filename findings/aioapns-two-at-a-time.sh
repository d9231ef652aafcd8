#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# APNs allows one stream on a connection until it has accepted a provider token, and more then. Here a server does so:
# it announces SETTINGS_MAX_CONCURRENT_STREAMS 1, and 1000 just before it answers the first push. Of 100 pushes that
# come next, all at once, it then has from
#
# - aioapns 4.0 two at a time on a connection, for as long as the connection lives. Its own bound says 1000.
# - httpx 0.28.1 100 at a time, which is its own limit.
#
# When the new number comes while all streams are in use, aioapns counts up its free ones before it raises the bound,
# which lets only one of the 999 through.
#
# What one would guess: a client that follows the setting at all uses what it allows.
#
# Whoever sends with it has a fraction of the throughput, in no log, and may blame the gateway.
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
import h2.settings
import httpx

logging.disable(logging.CRITICAL)
key, certificate = f"{sys.argv[1]}/key.pem", f"{sys.argv[1]}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
STREAMS = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS
connections = []  # of each the pushes that are open, the most that were, and all


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.counts = {"open": 0, "most": 0, "all": 0}
        connections.append(self.counts)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values={STREAMS: 1})
        self.h2.initiate_connection()
        self.send()

    def send(self):
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.counts["all"] += 1
                self.counts["open"] += 1
                self.counts["most"] = max(self.counts["most"], self.counts["open"])
                if self.counts["all"] == 1:
                    self.h2.update_settings({STREAMS: 1000})
                name = dict(event.headers).get(b"apns-id", b"").decode()
                asyncio.get_running_loop().call_later(0.1, self.answer, event.stream_id, name)
            if isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self.send()

    def answer(self, stream, name):
        self.counts["open"] -= 1
        self.h2.send_headers(stream, [(":status", "200"), ("apns-id", name)], end_stream=True)
        self.send()


async def run():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    trust = ssl.create_default_context(cafile=certificate)
    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port
    with open(key) as file:
        account = {"key": file.read(), "key_id": "K", "team_id": "T", "topic": "com.example.app"}
    apns = aioapns.APNs(**account, ssl_context=trust, max_connections=1)
    client = httpx.AsyncClient(http1=False, http2=True, verify=trust, timeout=60)
    url = f"https://localhost:{port}/3/device/ab"
    ways = {
        "aioapns": lambda: apns.send_notification(aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}})),
        "httpx": lambda: client.post(url, json={"aps": {"alert": "Hello"}}),
    }
    for name, push in ways.items():
        connections.clear()
        await push()  # and the settings have come with its answer
        await asyncio.sleep(0.5)
        await asyncio.wait_for(asyncio.gather(*(push() for _ in range(100))), 60)
        print(f"{name}: {connections}")
        assert connections == [{"open": 0, "most": 2 if name == "aioapns" else 100, "all": 101}], connections
    bound = apns.pool.connections[0].free_channels.bound
    print(f"aioapns has a bound of {bound}")
    assert bound == 1000
    await client.aclose()


asyncio.run(run())
PYTHON
