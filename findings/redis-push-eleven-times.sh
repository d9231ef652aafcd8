#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program puts a push into a list of Redis, `RPUSH pushes 1`. The server takes it, and the connection ends instead of
# an answer, each time. With their defaults
#
# - redis 5.3.1 (the client for Python) sends it once, and raises ConnectionError. So does valkey 6.2.0.
# - redis 6.4.0 and 7.1.0 send it four times, with pauses, and then raise the same error.
# - redis 8.1.0 sends it eleven times.
#
# So it is with INCR and PUBLISH, and with a transaction (MULTI … EXEC), as queues of jobs use one. If the second try
# has an answer, there is no error, and two are in the list.
#
# The client retries a connection's error whatever the command, and does not ask whether it was sent.
#
# Guessed before it was run: what was sent and may have been carried out is an error for the caller, as for a POST.
#
# Whoever has gone from 5 to a later release, and queues pushes so, queues one several times when a server or a proxy is
# restarted, and counts badges up by more than one. `Retry(NoBackoff(), 0)` as `retry` is the client of before.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "$1==$2"
  "$folder/python/bin/python" - "$@" <<'PYTHON'
import importlib
import socket
import sys
import threading
import time

time.sleep = lambda seconds: None  # the pauses between two tries are left out
name, version, tries = sys.argv[1], sys.argv[2], int(sys.argv[3])
module = importlib.import_module(name)
WRITES = (b"RPUSH", b"INCRBY", b"PUBLISH")


class Server:
    """Takes what is sent, and ends the connection instead of an answer so many times."""

    def __init__(self, losses):
        self.losses, self.taken = losses, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        lines, held = connection.makefile("rb"), None
        while first := lines.readline():
            words = []
            for _ in range(int(first[1:])):
                size = int(lines.readline()[1:])
                words.append(lines.read(size + 2)[:-2])
            answer = b"+OK\r\n"
            if words[0] == b"HELLO":
                answer = b"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n"
            elif words[0] == b"MULTI":
                held = []
            elif words[0] in WRITES and held is not None:
                held.append(words)
                answer = b"+QUEUED\r\n"
            elif words[0] in WRITES or words[0] == b"EXEC":
                self.taken += held if words[0] == b"EXEC" else [words]
                if self.losses:
                    self.losses -= 1
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                answer = b":1\r\n"
            connection.sendall(answer)


def run(act, losses):
    server = Server(losses)
    client = (module.Redis if name == "redis" else module.Valkey)(port=server.listener.getsockname()[1])
    try:
        act(client)
        return len(server.taken), None
    except module.exceptions.ConnectionError:
        return len(server.taken), "ConnectionError"


def transaction(client):
    with client.pipeline(transaction=True) as pipe:
        pipe.rpush("pushes", "1").execute()


acts = {
    "RPUSH": lambda client: client.rpush("pushes", "1"),
    "INCR": lambda client: client.incr("badge"),
    "PUBLISH": lambda client: client.publish("pushes", "1"),
    "a transaction": transaction,
}
always = {what: run(act, 1000) for what, act in acts.items()}
once = run(acts["RPUSH"], 1)
print(f"{name} {version}: {always}; if the first answer is lost alone, {once}")
assert set(always.values()) == {(tries, "ConnectionError")}, always
assert once == ((1, "ConnectionError") if tries == 1 else (2, None)), once
PYTHON
}

look redis 5.3.1 1
look valkey 6.2.0 1
look redis 6.4.0 4
look redis 7.1.0 4
look redis 8.1.0 11
