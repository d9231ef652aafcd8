# SPDX-License-Identifier: Apache-2.0
"""How long a program takes from being started to doing its work."""
import json
import os
import pathlib
import re
import subprocess
import time

import harness
from harness import PAGES, ROOT, Failure, Rig, log
from results import median, row

PROGRAMS = [
    "martlet", "martlet-api", "martlet-feedback", "martlet-ingest", "martlet-sender", "martlet-signer",
    "martlet-webhooks", "martlet-scheduler", "martlet-lab", "apns-simulator"]


def start(options):
    """From exec to the end of --version, its files not in memory before, and until a service's /healthz answers.

    Also from the start of `martlet up` until its first push is delivered. In milliseconds, of the programs that an
    operator installs; the limit is 200, for a push 2,000. The longest of the rounds is told beside: the first time, a
    virtual machine may fetch a file's blocks from elsewhere.
    """
    built = harness.BUILD
    harness.BUILD = installed()
    try:
        return starts(options)
    finally:
        harness.BUILD = built


def starts(options):
    rows = []
    for program in PROGRAMS:
        times = [version(program) for _ in range(max(3, options.rounds))]
        entry = row(program, 0, 0, 0, 0)
        entry |= {"cold_ms": round(median(times)), "longest_ms": round(max(times))}
        rows.append(entry)
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        for name, begin in [
                ("martlet-signer", rig.signer), ("martlet-ingest", rig.ingest), ("martlet-feedback", rig.feedback),
                ("martlet-sender", rig.sender), ("martlet-api", rig.api), ("martlet-webhooks", rig.webhooks)]:
            answers = median([healthy(rig, begin) for _ in range(options.rounds)])
            next(entry for entry in rows if entry["name"] == name)["healthy_ms"] = round(answers)
    pushed = median([first_push(options) for _ in range(options.rounds)])
    rows.append({**row("martlet up", 0, 0, 0, 0), "first_push_ms": round(pushed)})
    shown = ("name", "cold_ms", "longest_ms", "healthy_ms", "first_push_ms")
    for entry in rows:
        log(", ".join(f"{key} {value}" for key, value in entry.items() if key in shown))
    return rows


def first_push(options):
    """Milliseconds from the start of `martlet up` in a new folder until `martlet send` says that a push was delivered."""
    with Rig(options) as rig:
        folder, martlet = rig.folder / "up", harness.BUILD / "martlet"
        begin = time.monotonic()
        process = rig.start("martlet", "up", "--dir", folder)
        addresses = json.loads(harness.wait_for_file(folder / "addresses.json", process))
        harness.call([
            martlet, "send", "--app", "com.example.app", "--token", harness.TOKEN, "--alert", "Hello",
            "--kafka", addresses["kafka"]])
        return (time.monotonic() - begin) * 1_000


def installed():
    """The programs as scripts/build makes them for other machines: with the Swift runtime inside, without symbols."""
    if "BENCHMARK_BUILD" in os.environ:
        return harness.BUILD
    place = ROOT / ".build" / "dist" / "martlet"
    log("building what an operator installs")
    harness.call([ROOT / "scripts" / "build", "--release", "--output", place], timeout=3_600)
    return place / "bin"


def version(program):
    """Milliseconds of `PROGRAM --version`, with the program and its libraries dropped from memory first."""
    path = harness.BUILD / program
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


def healthy(rig, begin):
    """Milliseconds until a service's /healthz answers 200, from its start."""
    started = time.monotonic()
    process = begin(*PAGES)
    address = process.pages()
    harness.wait_until(
        lambda: harness.answers(f"http://{address}/healthz"), process, "is not healthy", every=0.002)
    taken = (time.monotonic() - started) * 1_000
    process.stop()
    rig.processes.remove(process)
    return taken
