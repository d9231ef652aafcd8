#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A POST of 200,000 bytes, which is more than the 65,535 that a server has to let through. The server does not read it:
# it answers 413 with a body, to the end, and then asks the client to stop with RST_STREAM and NO_ERROR. A client must
# not throw such an answer away (RFC 9113, 8.1).
#
# - nghttp 1.52.0, Node.js 20.20.2, niquests 3.21.2 (urllib3-future 2.25.904), and curl_cffi 0.17.0, which has a newer
#   curl, have the 413 and its body.
# - curl 7.88.1 (that of Debian 12) fails with 92, and has no status.
# - httpx 0.28.1 with httpcore 1.0.9 raises ReadTimeout, when its time to read is over: it waits for room to send.
#
# Guessed before it was run: all have the 413.
#
# Whoever sends pushes in bulk to a service of their own does not learn that the bulk is too large, or that the token
# is no good, and sends it again.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
nghttp --version | grep -qx 'nghttp nghttp2/1\.52\.0'
nodejs --version | grep -qx 'v20\.20\.2'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: httpx==0.28.1 httpcore==1.0.9 \
  h2==4.3.0 niquests==3.21.2 urllib3-future==2.25.904 curl_cffi==0.17.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
head -c 200000 /dev/zero | tr '\0' x > "$folder/body"
cat > "$folder/push.js" <<'JAVASCRIPT'
const [url, certificate, body] = process.argv.slice(2);
const fs = require("fs");
const session = require("http2").connect(url, { ca: fs.readFileSync(certificate) });
const push = session.request({ ":method": "POST", ":path": "/pushes" });
let said = "";
push.on("response", (headers) => (said += headers[":status"] + " "));
push.on("data", (data) => (said += data));
push.on("error", (error) => (said += error.code));
push.on("end", () => {
  console.log(said);
  process.exit();
});
push.end(fs.readFileSync(body));
JAVASCRIPT

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import ssl
import sys

import curl_cffi
import h2.config
import h2.connection
import h2.errors
import h2.events
import httpx
import niquests

folder = sys.argv[1]
key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
answer = '{"reason":"PayloadTooLarge"}'


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.h2.initiate_connection()
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.h2.send_headers(event.stream_id, [(":status", "413")])
                self.h2.send_data(event.stream_id, answer.encode(), end_stream=True)
                self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.NO_ERROR)
        self.transport.write(self.h2.data_to_send())


async def output(*line):
    process = await asyncio.create_subprocess_exec(*line, stdout=-1, stderr=-1)
    said = (await asyncio.wait_for(process.communicate(), 20))[0].decode().strip()
    return f"exit status {process.returncode}, {said}" if process.returncode else said


async def run():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    url = f"https://localhost:{port}/pushes"
    with open(f"{folder}/body", "rb") as file:
        body = file.read()

    async def with_httpx():
        trust = ssl.create_default_context(cafile=certificate)
        async with httpx.AsyncClient(http1=False, http2=True, verify=trust, timeout=4) as client:
            try:
                return str((await client.post(url, content=body)).status_code)
            except httpx.TransportError as error:
                return type(error).__name__

    async def with_niquests():
        async with niquests.AsyncSession(disable_http1=True) as session:
            got = await session.post(url, data=body, verify=certificate, timeout=20)
            return f"{got.status_code} {got.text}"

    async def with_curl_cffi():
        async with curl_cffi.AsyncSession(http_version="v2", verify=certificate, timeout=20) as session:
            got = await session.post(url, data=body)
            return f"{got.status_code} {got.text}"

    async def with_nghttp():
        said = await output("nghttp", "-v", "-y", "-t", "20", "-d", f"{folder}/body", url)
        status = next(line.split()[-1] for line in said.splitlines() if ":status: " in line)
        return f"{status} {answer}" if answer in said else status

    def with_curl():
        line = ["curl", "-s", "--max-time", "20", "--http2", "--cacert", certificate, "-H", "expect:"]
        return output(*line, "--data-binary", f"@{folder}/body", "-w", "status %{http_code}", url)

    def with_node():
        return output("nodejs", f"{folder}/push.js", f"https://localhost:{port}", certificate, f"{folder}/body")

    for client, expected in (
        (with_nghttp, f"413 {answer}"),
        (with_niquests, f"413 {answer}"),
        (with_curl_cffi, f"413 {answer}"),
        (with_node, f"413 {answer}"),
        (with_curl, "exit status 92, status 000"),
        (with_httpx, "ReadTimeout"),
    ):
        seen = await client()
        print(f"{client.__name__.removeprefix('with_')}: {seen}")
        assert seen == expected, seen


asyncio.run(run())
PYTHON
