#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server, or a proxy before it, ends the stream of a push with RST_STREAM and no answer:
#
# - Node.js 20.20.2: with the code CANCEL there is no `error`, and no `response`. There are `end` and `close`, as if
#   an answer without a body had come. With INTERNAL_ERROR there is an `error`.
# - aioapns 4.0: the caller hears nothing, with any code, REFUSED_STREAM included (which says that it may send again).
# - httpx 0.28.1 raises RemoteProtocolError for each. curl 7.88.1 fails, and sends again for REFUSED_STREAM.
#
# What one would guess: a stream that was reset before its answer is an error for each client.
#
# Whoever waits with Node.js for `end` or `error` takes the push for sent, with a status of undefined. Whoever awaits
# aioapns waits until something else ends the connection.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
nodejs --version | grep -qx 'v20\.20\.2'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 httpx==0.28.1 \
  httpcore==1.0.9 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
cat > "$folder/push.js" <<'JAVASCRIPT'
const [url, certificate] = process.argv.slice(2);
const session = require("http2").connect(url, { ca: require("fs").readFileSync(certificate) });
const push = session.request({ ":method": "POST", ":path": "/3/device/ab" });
const events = [];
for (const name of ["response", "error", "end", "close"]) push.on(name, () => events.push(name));
push.on("close", () => {
  console.log(events.join(" "));
  session.close();
});
push.resume();
push.end("{}");
JAVASCRIPT

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
folder = sys.argv[1]
key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
code, times = 0, 0


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.h2.initiate_connection()
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        global times
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.StreamEnded):
                times += 1
                self.h2.reset_stream(event.stream_id, code)
        self.transport.write(self.h2.data_to_send())


async def output(*line):
    process = await asyncio.create_subprocess_exec(*line, stdout=-1, stderr=-1)
    said = (await asyncio.wait_for(process.communicate(), 20))[0].decode().strip()
    return said or f"exit status {process.returncode}"


async def run():
    global code, times
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    url = f"https://localhost:{port}/3/device/ab"
    trust = ssl.create_default_context(cafile=certificate)
    aioapns.connection.APNsProductionClientProtocol.APNS_SERVER = "localhost"
    aioapns.connection.APNsProductionClientProtocol.APNS_PORT = port

    async def with_httpx():
        async with httpx.AsyncClient(http1=False, http2=True, verify=trust) as client:
            try:
                return str((await client.post(url, content=b"{}")).status_code)
            except httpx.RemoteProtocolError as error:
                return type(error).__name__

    async def with_aioapns():
        with open(key) as file:
            client = aioapns.APNs(key=file.read(), key_id="K", team_id="T", topic="com.example.app", ssl_context=trust)
        try:
            request = aioapns.NotificationRequest("ab", {"aps": {"alert": "Hello"}})
            return (await asyncio.wait_for(client.send_notification(request), 4)).status
        except asyncio.TimeoutError:
            return "nothing in 4 s"

    ways = {
        "Node.js": lambda: output("nodejs", f"{folder}/push.js", f"https://localhost:{port}", certificate),
        "aioapns": with_aioapns,
        "httpx": with_httpx,
        "curl": lambda: output("curl", "-s", "--max-time", "20", "--http2", "--cacert", certificate, "-d", "{}", url),
    }
    others = ["nothing in 4 s, 1", "RemoteProtocolError, 1"]
    for name, code, expected in (
        ("CANCEL", 8, ["end close, 1", *others, "exit status 92, 1"]),
        ("INTERNAL_ERROR", 2, ["error close, 1", *others, "exit status 92, 1"]),
        ("REFUSED_STREAM", 7, ["error close, 1", *others, "exit status 56, 6"]),
    ):
        seen = []
        for way in ways.values():
            times = 0
            seen.append(f"{await way()}, {times}")
        print(f"{name}, and how often it was sent:", *(f"{client}: {said};" for client, said in zip(ways, seen)))
        assert seen == expected, seen


asyncio.run(run())
PYTHON
