#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tools of nghttp2 1.52.0 (that of Debian 12) end with 0 when nothing was sent, or nothing answered:
#
# - `h2load` with a port that nobody listens on: "10 failed, 10 errored, 0 succeeded", and 0. With a server whose
#   answers are all 503: "10 failed", and 0.
# - `nghttp` with that port: "Some requests were not processed", and 0; with a connection that ends without an answer,
#   too.
#
# curl 7.88.1 ends with 7 where nobody listens. `h2load` and `nghttp` end with 1 for an option that does not exist.
#
# Guessed before it was run: a load test none of whose requests was sent, and a client that could not connect, end with
# something else than 0, whatever one thinks of a 503.
#
# Whoever has a step of CI that loads a gateway for pushes with it, or waits for one with `until nghttp …`, has a green
# step without a gateway, and does not wait.
#
# Fails if a tool ends otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${servers[@]}" 2> /dev/null || true; rm -rf "$folder"' EXIT
servers=()
curl --version | grep -q '^curl 7\.88\.1 '
nghttp --version | grep -x 'nghttp nghttp2/1\.52\.0'
h2load --version | grep -x 'h2load nghttp2/1\.52\.0'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: h2==4.3.0
cat > "$folder/server.py" <<'PYTHON'
import socket
import sys
import threading

import h2.config
import h2.connection
import h2.events


def serve(peer, answers):
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    connection.initiate_connection()
    peer.sendall(connection.data_to_send())
    while data := peer.recv(65536):
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.StreamEnded):
                if not answers:
                    peer.shutdown(socket.SHUT_RDWR)
                    return
                connection.send_headers(event.stream_id, [(":status", "503")], end_stream=True)
        peer.sendall(connection.data_to_send())


def accept(listener, answers):
    while True:
        threading.Thread(target=quietly, args=(listener.accept()[0], answers), daemon=True).start()


def quietly(peer, answers):
    with peer:
        try:
            serve(peer, answers)
        except OSError:
            pass  # the client has left


refusing, closing, nobody = (socket.create_server(("127.0.0.1", 0)) for _ in range(3))
print(*(listener.getsockname()[1] for listener in (refusing, closing, nobody)), flush=True)
nobody.close()
threading.Thread(target=accept, args=(refusing, True), daemon=True).start()
accept(closing, False)
PYTHON
mkfifo "$folder/ports"
"$folder/python/bin/python" "$folder/server.py" > "$folder/ports" &
servers+=($!)
read -r refusing closing nobody < "$folder/ports"

look() { # the code, what it says, and the command
  local expected=$1 says=$2 code=0 said
  shift 2
  said=$("$@" 2>&1) || code=$?
  said=$(grep -m 1 -e "$says" <<< "$said")
  echo "$1 ends with $code: $said"
  [ "$code" = "$expected" ]
}

echo '{}' > "$folder/push"
load=(h2load -n 10 -c 1 -d "$folder/push")
look 0 "0 succeeded, 10 failed, 10 errored" "${load[@]}" "http://127.0.0.1:$nobody/3/device/ab"
look 0 "0 succeeded, 10 failed, 0 errored" "${load[@]}" "http://127.0.0.1:$refusing/3/device/ab"
look 0 "0 succeeded, 10 failed, 10 errored" "${load[@]}" "http://127.0.0.1:$closing/3/device/ab"
look 1 "option" h2load --no-such-option
push=(nghttp -n -d "$folder/push")
look 0 "not processed. total=1, processed=0" "${push[@]}" "http://127.0.0.1:$nobody/3/device/ab"
look 0 "not processed. total=1, processed=0" "${push[@]}" "http://127.0.0.1:$closing/3/device/ab"
look 1 "option" nghttp --no-such-option
curl=(curl -sS --noproxy '*' --max-time 20 --http2-prior-knowledge -d '{}')
look 7 "curl: (7)" "${curl[@]}" "http://127.0.0.1:$nobody/3/device/ab"
