#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes to different devices go over one connection with the same provider token, of 198 characters. HTTP/2 has a table
# for fields that come again (HPACK): a field that is in it costs a byte. What becomes of two fields of each push:
#
#                                                          authorization        :path (the device's token)
# - curl 7.88.1 and nghttp 1.52.0 (those of Debian 12),
#   Node.js 20.20.2                                        in full each time    in full
# - httpx 0.28.1 and aioapns 4.0, both with h2 4.3.0       in full each time    in full, and put into the table
#
# So the one field that is long and the same is sent with each push, in some 160 bytes; and with h2 the one that never
# comes again takes the room in the table: 4,096 bytes, which 36 devices fill.
#
# They take `authorization` for a secret that is never to be put into a table (RFC 7541, 7.1.3), where one who may
# choose other fields could guess it by lengths. Here the sender alone writes the fields.
#
# Guessed before it was run: after the first push of a connection the token is in the table and costs a byte or two, and
# the path, which changes, is a literal that is not kept.
#
# Whoever counts on HPACK for the traffic to APNs sends some 160 bytes more with each push, as much as a short alert.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 .*nghttp2/1\.52\.0'
nghttp --version | grep -qx 'nghttp nghttp2/1\.52\.0'
nodejs --version | grep -qx 'v20\.20\.2'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioapns==4.0 httpx==0.28.1 \
  h2==4.3.0 hpack==4.1.0 hyperframe==6.1.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
cat > "$folder/push.js" << 'JS'
const [origin, file, fields, ...paths] = process.argv.slice(2);
const session = require("http2").connect(origin, { ca: require("fs").readFileSync(file) });
(async () => {
  for (const path of paths)
    await new Promise((done) => {
      const push = session.request({ ":method": "POST", ":path": path, ...JSON.parse(fields) });
      push.resume().on("close", done).end("{}");
    });
  session.close();
})();
JS

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import threading

import aioapns
import aioapns.connection
import h2.config
import h2.connection
import h2.events
import httpx
import hyperframe.frame
from hpack.hpack import decode_integer

folder = pathlib.Path(sys.argv[1])
key, certificate = folder / "key.pem", folder / "certificate.pem"
tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain(certificate, key)
tls.set_alpn_protocols(["h2"])
names = {23: "authorization", 4: ":path"}  # in the table that all have from the beginning
blocks = []


def fields(block):
    """What becomes of the two fields: whether they are put into the table, and how many bytes they take."""
    seen, start = {}, 0
    while start < len(block):
        first = block[start]
        if first & 0x80 or first & 0xE0 == 0x20:  # a field of the table, or the table's size
            start += decode_integer(block[start:], 7 if first & 0x80 else 5)[1]
            continue
        kept = bool(first & 0x40)
        name, end = decode_integer(block[start:], 6 if kept else 4)
        for _ in range(1 if name else 2):
            length, bytes_of_it = decode_integer(block[start + end :], 7)
            end += length + bytes_of_it
        if name in names:
            seen[names[name]] = ("kept" if kept else "never" if first & 0x10 else "not kept", end)
        start += end
    return seen


def serve(plain):
    peer = tls.wrap_socket(plain, server_side=True)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    ids, rest, begun = {}, b"", False
    while data := peer.recv(65536):
        rest += data
        if not begun and len(rest) >= 24:
            rest, begun = rest[24:], True  # the preface
        while begun and len(rest) >= 9:
            frame, length = hyperframe.frame.Frame.parse_frame_header(memoryview(rest[:9]))
            if len(rest) < 9 + length:
                break
            if isinstance(frame, hyperframe.frame.HeadersFrame):
                frame.parse_body(memoryview(rest[9 : 9 + length]))
                blocks.append(fields(frame.data))
            rest = rest[9 + length :]
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                ids[event.stream_id] = dict(event.headers).get("apns-id", "-")
            if isinstance(event, h2.events.StreamEnded):
                answer = [(":status", "200"), ("apns-id", ids[event.stream_id])]
                connection.send_headers(event.stream_id, answer, end_stream=True)
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
threading.Thread(target=accept, daemon=True).start()
devices = [bytes([number] * 32).hex() for number in (0x1A, 0x2B, 0x3C, 0x4D)]
paths = [f"/3/device/{device}" for device in devices]
origin = f"https://localhost:{port}"
urls = [origin + path for path in paths]
trust = ssl.create_default_context(cafile=certificate)
token = "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyMzQ1NjcifQ.eyJpc3MiOiJURUFNMTIzNDU2IiwiaWF0IjoxNzk1MDAwMDAwfQ."
token += "s2V5".join("Qw7ZxY3rT9" for _ in range(6))
headers = {"authorization": f"bearer {token:A<191}", "apns-topic": "com.example.app"}
assert len(headers["authorization"]) == 198
options = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]


def run(*line):
    subprocess.run(line, check=True, capture_output=True, timeout=30)


def with_curl():
    run("curl", "-sS", "--noproxy", "*", "--http2", "--cacert", certificate, *options, "-d", "{}", *urls)


def with_nghttp():
    (folder / "body").write_text("{}")
    run("nghttp", "-ny", *options, "-d", folder / "body", *urls)


def with_node():
    run("nodejs", folder / "push.js", origin, certificate, json.dumps(headers), *paths)


def with_httpx():
    with httpx.Client(http1=False, http2=True, verify=trust, trust_env=False) as client:
        for url in urls:
            client.post(url, content=b"{}", headers=headers).raise_for_status()


def with_aioapns():
    protocol = aioapns.connection.APNsProductionClientProtocol
    protocol.APNS_SERVER, protocol.APNS_PORT = "localhost", port

    async def send():
        client = aioapns.APNs(
            key=key.read_text(), key_id="ABC1234567", team_id="TEAM123456", topic="com.example.app", ssl_context=trust
        )
        for device in devices:
            push = aioapns.NotificationRequest(device, {"aps": {"alert": "Hello"}})
            assert (await asyncio.wait_for(client.send_notification(push), 20)).is_successful

    asyncio.run(send())


def look(client, path):
    blocks.clear()
    client()
    print(f"{client.__name__.removeprefix('with_')}:", *blocks, sep="\n  ")
    assert len(blocks) == len(devices)
    for block in blocks:
        (how, size), (path_how, path_size) = block["authorization"], block[":path"]
        assert how == "never" and 140 < size < 190, block
        assert path_how == path and 40 < path_size < 70, block


look(with_curl, "not kept")
look(with_nghttp, "not kept")
look(with_node, "not kept")
look(with_httpx, "kept")
look(with_aioapns, "kept")
PYTHON
