#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A password is 50%25+5, of which each character is one. It is given to a proxy and to the server behind it, and what
# comes to them is
#
# - curl 7.88.1 (that of Debian 12), `--proxy-user` and `--user`: 50%+5 and 50%25+5. The proxy's is decoded as if it
#   were in a URL. libcurl's manual says so of its option, and that of curl does not. "50% off" is as it was given for
#   both.
# - PycURL 7.49.0 with libcurl 8.23.0, PROXYUSERPWD and USERPWD: the same. PROXYPASSWORD and PASSWORD: 50%25+5 for both.
# - httpx 0.28.1, `Proxy(url, auth=(name, password))` and `auth=`: 50%25+5 for both.
#
# Guessed before it was run: an option that is no URL is taken as it is, and two options that look alike are alike.
#
# Whoever reaches Apple through a company's proxy has 407 for some passwords that are made at random, one in a hundred
# of those of 20 characters, and no one sees why, as the same one is right in `--user`.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2> /dev/null || true; rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 '
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pycurl==7.49.0 httpx==0.28.1
cat > "$folder/proxy.py" <<'PYTHON'
import base64
import re
import socket

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    with listener.accept()[0] as peer:
        head = b""
        while b"\r\n\r\n" not in head and (data := peer.recv(65536)):
            head += data
        fields = dict(re.findall(r"(?im)^([a-z-]*authorization): basic (\S+)", head.decode()))
        given = {name.lower(): base64.b64decode(text).decode() for name, text in fields.items()}
        body = "|".join(given.get(name, "") for name in ("proxy-authorization", "authorization")).encode()
        peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
PYTHON
python3 "$folder/proxy.py" > "$folder/port" &
server=$!
for _ in {1..100}; do
  [ -s "$folder/port" ] && break
  sleep 0.1
done
proxy=http://127.0.0.1:$(cat "$folder/port")

for password in 50%25+5 '50% off'; do
  seen=$(curl -sS --max-time 20 --noproxy '' -x "$proxy" --proxy-user "me:$password" --user "me:$password" \
    http://gateway.example/)
  echo "curl, $password: $seen"
  [ "$seen" = "me:${password/25/}|me:$password" ]
done
"$folder/python/bin/python" - "$proxy" <<'PYTHON'
import io
import sys

import httpx
import pycurl

PASSWORD = "50%25+5"


def with_pycurl(*options):
    client, body = pycurl.Curl(), io.BytesIO()
    client.setopt(pycurl.URL, "http://gateway.example/")
    client.setopt(pycurl.PROXY, sys.argv[1])
    client.setopt(pycurl.NOPROXY, "")
    client.setopt(pycurl.TIMEOUT, 20)
    client.setopt(pycurl.WRITEDATA, body)
    for option, value in options:
        client.setopt(option, value)
    client.perform()
    return body.getvalue().decode()


pair = f"me:{PASSWORD}"
one = with_pycurl((pycurl.PROXYUSERPWD, pair), (pycurl.USERPWD, pair))
names = (pycurl.PROXYUSERNAME, "me"), (pycurl.USERNAME, "me")
two = with_pycurl(*names, (pycurl.PROXYPASSWORD, PASSWORD), (pycurl.PASSWORD, PASSWORD))
print(f"PycURL with libcurl {pycurl.version_info()[1]}: {one}; of two options {two}")
assert (one, two) == ("me:50%+5|me:50%25+5", "me:50%25+5|me:50%25+5"), (one, two)
with httpx.Client(proxy=httpx.Proxy(sys.argv[1], auth=("me", PASSWORD)), auth=("me", PASSWORD)) as client:
    seen = client.get("http://gateway.example/").text
print(f"httpx {httpx.__version__}: {seen}")
assert seen == "me:50%25+5|me:50%25+5", seen
PYTHON
