# SPDX-License-Identifier: Apache-2.0
"""What the simulator costs a test suite: its start, its reset, its memory."""
import http.client
import json
import shutil
import subprocess
import time

from harness import BUILD, Failure, Rig, log
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
    """Resident MiB while h2load has that many connections open."""
    if not shutil.which("h2load"):
        raise Failure("h2load is missing: apt-get install nghttp2-client")
    load = subprocess.Popen(
        ["h2load", "-c", str(MANY), "-n", str(2 * MANY), "-m", "1", f"https://127.0.0.1:{rig.port}/3/device/ab"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    most = 0
    while load.poll() is None:
        most = max(most, process.resident_mib())
        process.check()
        time.sleep(0.2)
    output = load.stdout.read()
    if f"{2 * MANY} done" not in output:
        raise Failure(f"h2load:\n{output[-1_000:]}")
    return most
