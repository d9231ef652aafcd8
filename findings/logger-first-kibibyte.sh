#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A script logs a payload of 3,000 bytes with `logger` of util-linux 2.38.1 (that of Debian 12), here to a server by
# UDP. Given as an argument, `logger "$payload"`, the first 1,024 bytes arrive, and the rest is nowhere: one message, no
# error, and it ends with 0. Given on standard input, `logger <<< "$payload"`, all arrives, cut into three messages.
# With `--size 4096` both are one whole message.
#
# Neither is a limit of the log server or of UDP, and the message's end does not show that it was cut.
#
# What one would guess: what fits into a datagram, or what syslog's servers take, is sent, or an error says why not; and
# an argument and standard input are two ways to say the same.
#
# A payload that is cut is no JSON, so that a log server that reads it as some leaves it away or keeps it as a text.
#
# Fails if it does otherwise than it did.
set -euo pipefail
logger --version | grep -o 'util-linux 2\.38\.1'
python3 <<'PYTHON'
import json
import socket
import subprocess

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
port = str(receiver.getsockname()[1])
payload = json.dumps({"aps": {"alert": "x" * 2978}})
assert len(payload) == 3000


def log(*arguments, text=None):
    command = ["logger", "--server", "127.0.0.1", "--port", port, "--udp", "--rfc5424=notime,notq,nohost", *arguments]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    receiver.settimeout(20)
    datagrams = [receiver.recv(65535).decode()]
    receiver.settimeout(1)
    try:
        while True:
            datagrams.append(receiver.recv(65535).decode())
    except TimeoutError:
        pass
    assert (done.returncode, done.stderr) == (0, ""), done
    # <priority>1 time host tag process message-id structured-data message
    return [datagram.split(" ", 7)[7] for datagram in datagrams]


for name, messages, expected in (
    ("as an argument", log("--", payload), [1024]),
    ("on standard input", log(text=payload + "\n"), [1024, 1024, 952]),
    ("as an argument, --size 4096", log("--size", "4096", "--", payload), [3000]),
    ("on standard input, --size 4096", log("--size", "4096", text=payload + "\n"), [3000]),
):
    lengths = list(map(len, messages))
    print(f"{name}: messages of {lengths} bytes")
    assert lengths == expected, messages
    assert payload.startswith("".join(messages))
PYTHON
