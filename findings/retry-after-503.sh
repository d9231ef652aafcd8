#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server answers a POST with `Retry-After: 3`, and 429 or 503 (which RFC 9110 has the header for). When the clients
# that have retries come again:
#
# - retryhttp 1.5.0, with httpx 0.28.1: after 3 s for 429, and within the second for 503. It waits by the header
#   for what it calls rate limiting, which is 429, and at random for an error of the server.
# - aiohttp-retry 2.9.1, with aiohttp 3.14.5: within the second for both. It does not look at the header.
# - httpx-retries 0.6.0, and urllib3 2.8.0 with `status_forcelist`: after 3 s for both.
#
# Guessed before it was run: who makes retries for HTTP follows the header, and for 503 as for 429.
#
# Whoever sends pushes through one of these to a gateway that says that it is overloaded, and until when, asks again at
# once, with all that is waiting, and has used up the tries before the time has come.
#
# Fails if a client comes again at another time than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: retryhttp==1.5.0 httpx==0.28.1 \
  aiohttp-retry==2.9.1 aiohttp==3.14.5 httpx-retries==0.6.0 urllib3==2.8.0
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import http.server
import threading
import time

import aiohttp
import aiohttp_retry
import httpx
import httpx_retries
import retryhttp
import urllib3

asked = []


class Gateway(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        asked.append(time.monotonic())
        self.send_response(200 if len(asked) > 1 else int(self.path.rpartition("/")[2]))
        if len(asked) == 1:
            self.send_header("retry-after", "3")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
threading.Thread(target=server.serve_forever, daemon=True).start()


@retryhttp.retry
def with_retryhttp(url):
    answer = httpx.post(url, content=b"{}")
    answer.raise_for_status()
    return answer.status_code


def with_httpx_retries(url):
    retry = httpx_retries.Retry(total=2, backoff_factor=0.1, allowed_methods=["POST"])
    with httpx.Client(transport=httpx_retries.RetryTransport(retry=retry)) as client:
        return client.post(url, content=b"{}").status_code


def with_aiohttp_retry(url):
    async def post():
        options = aiohttp_retry.ExponentialRetry(attempts=3, start_timeout=0.1, statuses={429, 503})
        async with aiohttp_retry.RetryClient(retry_options=options) as client:
            async with client.post(url, data=b"{}") as answer:
                return answer.status

    return asyncio.run(post())


def with_urllib3(url):
    retry = urllib3.Retry(total=2, backoff_factor=0.1, status_forcelist=[429, 503], allowed_methods=["POST"])
    return urllib3.PoolManager().request("POST", url, body=b"{}", retries=retry).status


for client, waits in (
    (with_retryhttp, {429: True, 503: False}),
    (with_aiohttp_retry, {429: False, 503: False}),
    (with_httpx_retries, {429: True, 503: True}),
    (with_urllib3, {429: True, 503: True}),
):
    for code, expected in waits.items():
        asked.clear()
        status = client(f"http://127.0.0.1:{server.server_port}/3/device/{code}")
        gap = asked[1] - asked[0]
        print(f"{client.__name__}: {code} with 3 s, and it came again after {gap:.1f} s; then {status}")
        assert status == 200 and (gap >= 2.5 if expected else gap < 2.5), gap
PYTHON
