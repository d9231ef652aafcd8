# SPDX-License-Identifier: Apache-2.0
"""What the simulator costs a test suite: its start, its reset, its memory."""
import http.client
import json
import socket
import ssl
import struct
import subprocess
import time

from harness import BUILD, TOKEN, Failure, Rig, body, log
from results import median, row

# Connections that are open at once.
MANY = 10_000
RESETS = 1_000


def gateway(options):
    """Start and reset of apns-simulator in milliseconds, and its resident memory at rest and with many connections."""
    with Rig(options) as rig:
        starts = {"new keys": [], "keys that are there": []}
        for number in range(max(5, options.rounds)):
            folder = rig.folder / f"gateway-{number}"
            for times in starts.values():
                times.append(started(folder))
        rows = []
        for name, times in starts.items():
            rows.append(told(f"start with {name}", {"ready_ms": round(median(times)), "longest_ms": round(max(times))}))
        process = rig.simulator("--record-limit", "0")
        time.sleep(1)
        rest = process.resident_mib()
        times = resets(rig.admin)
        rows.append(told("reset", {"p50_ms": round(median(times), 2), "p99_ms": round(sorted(times)[-len(times) // 100], 2)}))
        rows.append(row("at rest", 0, 0, 0, rest))
        rows.append(row(f"{MANY:,} connections", 0, 0, 0, crowded(rig, process)))
        return rows


def told(name, figures):
    log(f"{name}: {figures}")
    return {**row(name, 0, 0, 0, 0), **figures}


def started(folder):
    """Milliseconds until `--dev` has printed its line."""
    begin = time.monotonic()
    with subprocess.Popen(
            [BUILD / "apns-simulator", "--dev", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True) as process:
        line = process.stdout.readline()
        taken = (time.monotonic() - begin) * 1_000
        process.stdin.close()
        if process.wait(timeout=20) != 0 or "listening" not in json.loads(line):
            raise Failure(f"apns-simulator --dev printed {line!r}")
    return taken


def resets(address):
    connection = http.client.HTTPConnection(address, timeout=10)
    times = []
    for _ in range(RESETS):
        begin = time.monotonic()
        connection.request("POST", "/reset")
        answer = connection.getresponse()
        answer.read()
        times.append((time.monotonic() - begin) * 1_000)
        if answer.status not in (200, 204):
            raise Failure(f"POST /reset was answered with {answer.status}")
    connection.close()
    return times


def crowded(rig, process):
    """Resident MiB when that many connections are open and each has sent one push."""
    trusted = ssl.create_default_context(cafile=rig.folder / "keys" / "root.pem")
    trusted.set_alpn_protocols(["h2"])
    request = push(rig.bearer().removeprefix("authorization: "))
    # All connect at once; each goes on when those before it are served.
    sockets = [socket.create_connection(("127.0.0.1", rig.port), timeout=60) for _ in range(MANY)]
    held = []
    for each in sockets:
        connection = trusted.wrap_socket(each, server_hostname="localhost")
        connection.sendall(request)
        held.append(connection)
    for connection in held:
        answer = b""
        while ANSWERED not in answer:
            piece = connection.recv(65_536)
            if not piece:
                raise Failure(f"a connection ended after {answer!r}")
            answer += piece
    process.check()
    resident = process.resident_mib()
    for connection in held:
        connection.close()
    return resident


# HEADERS with END_HEADERS and END_STREAM on stream 1, and `:status: 200` by its number in the static table.
ANSWERED = bytes([1, 5, 0, 0, 0, 1, 0x88])


def push(authorization):
    """The beginning of an HTTP/2 connection (RFC 9113 §3.4) and one push."""
    fields = {
        ":path": f"/3/device/{TOKEN}", ":authority": "localhost", "authorization": authorization,
        "apns-topic": "com.example.app", "apns-push-type": "alert"}
    # ":method: POST" and ":scheme: https" of the static table, then literals that are never indexed.
    block = b"\x83\x87" + b"".join(b"\x10" + text(name) + text(value) for name, value in fields.items())
    frames = frame(4, 0, 0, b"") + frame(1, 4, 1, block) + frame(0, 1, 1, body().encode())
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frames


def text(value):
    """A string of a header block (RFC 7541 §5.2)."""
    coded = value.encode()
    rest = len(coded) - 127
    if rest < 0:
        return bytes([len(coded)]) + coded
    return bytes([127, rest] if rest < 128 else [127, rest & 127 | 128, rest >> 7]) + coded


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload
