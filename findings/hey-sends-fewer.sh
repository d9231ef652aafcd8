#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `hey -n 100 -c 60` (hey 0.1.4, that of Debian 12) sends 60 requests, and reports 60 answers with 200; `-n 1000 -c 300`
# sends 900, and `-n 100 -c 30` 90. It says nothing of those that it leaves out, and ends with 0. Each worker sends n/c
# requests, without the remainder. The help has of `-n`: "Number of requests to run".
#
# `h2load -n 100 -c 60` and `-n 1000 -c 300` of nghttp2 1.52.0 send 100 and 1,000: some connections send one more.
#
# Guessed before it was run: 100 are sent, as one says with `-n`.
#
# Whoever sends a number of pushes into a pipeline so, and counts at the end of it, looks for 40 pushes that were never
# sent.
#
# Fails if a tool does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
h2load --version | grep -x 'h2load nghttp2/1\.52\.0'
cd "$folder"
apt-get -qq download hey=0.1.4-* 2> /dev/null
dpkg -x hey_*.deb hey
dpkg-deb --show hey_*.deb
echo -n '{}' > push
python3 - <<'PYTHON'
import http.server
import subprocess
import threading

taken = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        taken.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *parts):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/pushes"
hey = ["hey/usr/bin/hey", "-m", "POST", "-D", "push"]
h2load = ["h2load", "--h1", "-d", "push"]
for tool, count, workers, sent in (
    (hey, 100, 60, 60),
    (hey, 1000, 300, 900),
    (hey, 100, 30, 90),
    (hey, 100, 50, 100),
    (h2load, 100, 60, 100),
    (h2load, 1000, 300, 1000),
):
    taken.clear()
    line = [*tool, "-n", str(count), "-c", str(workers), url]
    said = subprocess.run(line, check=True, capture_output=True, text=True, timeout=120).stdout
    reports = f"[200]\t{sent} responses" if tool is hey else f"{sent} total, {sent} started, {sent} done"
    print(f"{line[0].split('/')[-1]} -n {count} -c {workers}: {len(taken)} taken")
    assert len(taken) == sent and reports in said, (len(taken), said)
PYTHON
