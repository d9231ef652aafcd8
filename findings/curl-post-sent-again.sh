#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two pushes on one connection of HTTP/1.1. The server has the second in full, and ends the connection instead of an
# answer, as one does that is stopped:
#
# - curl 7.88.1 (that of Debian 12), without `--retry`, sends it again on a new connection: the server has taken it
#   twice. curl ends with 0 and the 200 of the second time, and says nothing of the first. PycURL 7.49.0, with a newer
#   libcurl, does the same.
# - requests 2.34.2, httpx 0.28.1 and Python's http.client raise an error, and have sent it once.
#
# If it is the first on its connection, curl fails with 52, too. It takes a connection that was kept, and that ends
# without a byte of an answer, for one that was over before the request.
#
# Guessed before it was run: what is not safe to repeat, as a POST, is sent once, unless one asks for more with
# `--retry`.
#
# Whoever submits pushes with it over HTTP/1.1, or with what is made of libcurl, submits some twice at each restart of
# the other side, if nothing in the push tells the two apart.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pycurl==7.49.0 requests==2.34.2 \
  httpx==0.28.1
"$folder/python/bin/python" - <<'PYTHON'
import http.client
import http.server
import io
import subprocess
import threading

import httpx
import pycurl
import requests

taken, over = [], set()


class Handler(http.server.BaseHTTPRequestHandler):
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


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_port
first, second = (f"http://127.0.0.1:{port}/pushes/{number}" for number in (1, 2))


def with_curl():
    line = ["curl", "-s", "--noproxy", "*", "--max-time", "20", "--http1.1", "-d", "{}"]
    line += ["-w", "%{http_code}/%{exitcode} ", first, second]
    done = subprocess.run(line, capture_output=True, text=True)
    return f"{done.stdout}and ends with {done.returncode}"


def with_pycurl():
    client = pycurl.Curl()
    client.setopt(pycurl.WRITEDATA, io.BytesIO())
    client.setopt(pycurl.POSTFIELDS, "{}")
    client.setopt(pycurl.PROXY, "")
    said = []
    for url in (first, second):
        client.setopt(pycurl.URL, url)
        client.perform()
        said.append(str(client.getinfo(pycurl.RESPONSE_CODE)))
    return " ".join(said)


def with_requests():
    with requests.Session() as client:
        client.trust_env = False
        return " ".join(str(client.post(url, data="{}").status_code) for url in (first, second))


def with_httpx():
    with httpx.Client(trust_env=False) as client:
        return " ".join(str(client.post(url, content="{}").status_code) for url in (first, second))


def with_http_client():
    client, said = http.client.HTTPConnection("127.0.0.1", port), []
    for path in ("/pushes/1", "/pushes/2"):
        client.request("POST", path, "{}")
        answer = client.getresponse()
        answer.read()
        said.append(str(answer.status))
    return " ".join(said)


def look(client, last, says, times):
    taken.clear()
    over.clear()
    over.add(last)
    try:
        said = client()
    except (requests.ConnectionError, httpx.RemoteProtocolError, http.client.RemoteDisconnected) as error:
        said = type(error).__name__
    name = client.__name__.removeprefix("with_")
    print(f"{name}, closed after {last}: {said}; that push was taken {taken.count(last)} time(s)")
    assert (said, taken.count(last)) == (says, times), (says, times)


print(f"libcurl of PycURL: {pycurl.version_info()[1]}")
look(with_curl, "/pushes/2", "200/0 200/0 and ends with 0", 2)
look(with_curl, "/pushes/1", "000/52 200/0 and ends with 0", 1)
look(with_pycurl, "/pushes/2", "200 200", 2)
look(with_requests, "/pushes/2", "ConnectionError", 1)
look(with_httpx, "/pushes/2", "RemoteProtocolError", 1)
look(with_http_client, "/pushes/2", "RemoteDisconnected", 1)
PYTHON
