#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Three requests to one server in one call of curl 7.88.1 (that of Debian 12), by HTTP/2 without TLS and without asking
# first (`--http2-prior-knowledge`). The first has its answer. The second and the third fail with 16, "Error in the
# HTTP2 framing layer", and are not sent: the server sees one request on one connection. So it is for GET and POST, and
# for a second URL after `--next`. With TLS all three are answered, on one connection. The server is that of nghttp2
# 1.52.0; another, made of h2 4.3.0, sees the same.
#
# nghttp 1.52.0, and PycURL 7.49.0 with a newer libcurl, have three answers on one connection.
#
# Guessed before it was run: a connection is used again, as it is with TLS and with HTTP/1.1.
#
# Whoever tries a server of pushes on a laptop without TLS, with a loop of URLs, takes the server for broken, as the
# message speaks of its frames.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${servers[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
servers=()
curl --version | grep -q '^curl 7\.88\.1 '
nghttp --version | grep -qx 'nghttp nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pycurl==7.49.0 h2==4.3.0
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2> /dev/null
mkdir "$folder/served"
touch "$folder/served/"{a,b,c}

read -r plain tls other < <(python3 -c '
import socket
taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(each.getsockname()[1] for each in taken))')
nghttpd -a 127.0.0.1 -d "$folder/served" --no-tls "$plain" > "$folder/log" 2>&1 &
servers+=($!)
nghttpd -a 127.0.0.1 -d "$folder/served" "$tls" "$folder/key.pem" "$folder/certificate.pem" > /dev/null 2>&1 &
servers+=($!)
cat > "$folder/server.py" <<'PYTHON'
import socket
import sys

import h2.config
import h2.connection
import h2.events

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    peer = listener.accept()[0]
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    try:
        while data := peer.recv(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.StreamEnded):
                    connection.send_headers(event.stream_id, [(":status", "200")], end_stream=True)
            peer.sendall(connection.data_to_send())
    except OSError:
        pass  # the client has left
PYTHON
"$folder/python/bin/python" "$folder/server.py" "$other" &
servers+=($!)
for port in "$plain" "$tls" "$other"; do
  for _ in {1..100}; do
    (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break
    sleep 0.1
  done
done

look() { # a name, what it says, and the command
  local name=$1 says=$2 said code=0
  shift 2
  said=$("$@" 2> "$folder/errors") || code=$?
  said="$(echo $said) and ends with $code"
  echo "$name: $said"
  [ "$said" = "$says" ]
}

format=(-sS --noproxy '*' --max-time 20 -w '%{http_code}/%{num_connects} ' -o /dev/null -o /dev/null -o /dev/null)
failed="200/1 000/0 000/0 and ends with 16"
look "GET, nghttpd" "$failed" curl "${format[@]}" --http2-prior-knowledge "http://127.0.0.1:$plain/"{a,b,c}
grep -m 1 -x 'curl: (16) Error in the HTTP2 framing layer' "$folder/errors"
look "POST, nghttpd" "$failed" curl "${format[@]}" --http2-prior-knowledge -d '{}' "http://127.0.0.1:$plain/"{a,b,c}
look "POST, h2" "$failed" curl "${format[@]}" --http2-prior-knowledge -d '{}' "http://127.0.0.1:$other/"{a,b,c}
once=(-s --noproxy '*' --max-time 20 --http2-prior-knowledge -d '{}' -w '%{http_code}/%{num_connects} ')
look "POST and --next, h2" "200/1 000/0 and ends with 16" curl "${once[@]}" "http://127.0.0.1:$other/a" \
  --next "${once[@]}" "http://127.0.0.1:$other/b"
look "POST with TLS, nghttpd" "200/1 200/0 200/0 and ends with 0" curl "${format[@]}" \
  --cacert "$folder/certificate.pem" --http2 -d '{}' "https://localhost:$tls/"{a,b,c}
nghttp -nsv "http://127.0.0.1:$plain/"{a,b,c} > "$folder/nghttp"
[ "$(grep -c ':status: 200' "$folder/nghttp")" = 3 ]
[ "$(grep -c 'Connected$' "$folder/nghttp")" = 1 ]
echo "nghttp: 3 answers on one connection"
"$folder/python/bin/python" - "$plain" <<'PYTHON'
import io
import sys

import pycurl

client, said = pycurl.Curl(), []
client.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
client.setopt(pycurl.PROXY, "")
client.setopt(pycurl.WRITEDATA, io.BytesIO())
for name in "abc":
    client.setopt(pycurl.URL, f"http://127.0.0.1:{sys.argv[1]}/{name}")
    client.perform()
    said.append((client.getinfo(pycurl.RESPONSE_CODE), client.getinfo(pycurl.NUM_CONNECTS)))
print(f"PycURL with libcurl {pycurl.version_info()[1]}: {said}")
assert said == [(200, 1), (200, 0), (200, 0)], said
PYTHON
