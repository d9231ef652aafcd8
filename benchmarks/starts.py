# SPDX-License-Identifier: Apache-2.0
"""How long a program takes from being started to doing its work."""
import os
import pathlib
import re
import subprocess
import time
import urllib.request

from harness import BUILD, Failure, Rig, free_port, log
from results import median, row

PROGRAMS = [
    "martlet", "martlet-api", "martlet-feedback", "martlet-ingest", "martlet-sender", "martlet-signer",
    "apns-simulator"]


def start(options):
    """From exec to the end of --version, its files not in memory before, and until a service's /healthz answers.

    Both in milliseconds, the longest of the rounds; the limit is 200.
    """
    rows = []
    for program in PROGRAMS:
        cold = max(version(program) for _ in range(options.rounds))
        entry = row(program, 0, 0, 0, 0)
        entry["cold_ms"] = round(cold)
        rows.append(entry)
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        for name, begin in [
                ("martlet-signer", rig.signer), ("martlet-ingest", rig.ingest), ("martlet-feedback", rig.feedback),
                ("martlet-sender", rig.sender)]:
            answers = median([healthy(rig, name, begin) for _ in range(options.rounds)])
            next(entry for entry in rows if entry["name"] == name)["healthy_ms"] = round(answers)
    for entry in rows:
        log(", ".join(f"{key} {value}" for key, value in entry.items() if key in ("name", "cold_ms", "healthy_ms")))
    return rows


def version(program):
    """Milliseconds of `PROGRAM --version`, with the program and its libraries dropped from memory first."""
    path = BUILD / program
    libraries = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    for file in [path, *map(pathlib.Path, re.findall(r"=> (/\S+)", libraries))]:
        forget(file)
    begin = time.monotonic()
    done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    taken = (time.monotonic() - begin) * 1_000
    if done.returncode != 0:
        raise Failure(f"{program} --version ended with status {done.returncode}")
    return taken


def forget(path):
    """Drops a file's pages from memory, as far as no other process has them mapped."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def healthy(rig, name, begin):
    """Milliseconds until a service's /healthz answers 200, from its start."""
    port = free_port()
    started = time.monotonic()
    process = begin(*(["--http", f"127.0.0.1:{port}"]))
    while True:
        process.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                if answer.status == 200:
                    break
        except OSError:
            pass
        if time.monotonic() - started > 30:
            raise Failure(f"{name} is not healthy after 30 s:\n{process.tail()}")
        time.sleep(0.002)
    taken = (time.monotonic() - started) * 1_000
    process.stop()
    rig.processes.remove(process)
    return taken
