# SPDX-License-Identifier: Apache-2.0
"""What the embedded broker takes for a record: one client writes and another reads it."""
import hashlib
import shutil
import subprocess
import time

from harness import BODY_BYTES, Failure, Rig, log
from results import median, row

# It has no reader of its own, so that nothing but these clients works on it.
TOPIC = "push.receipts"
CODECS = ("none", "lz4")


def broker(options):
    """CPU of the broker for each record that kcat writes and another kcat reads at the same time, with each codec."""
    kcat = shutil.which("kcat")
    if not kcat:
        raise Failure("kcat is missing: apt-get install kcat")
    rows = []
    for codec in CODECS:
        rounds = []
        for number in range(options.rounds):
            with Rig(options) as rig:
                processes = rig.broker(receipts=options.partitions)
                if not processes:
                    raise Failure("the CPU of a cluster's brokers is not ours to measure: leave out --kafka")
                rounds.append(passing(rig, processes[0], kcat, codec, options.count))
                log(f"{codec}, round {number + 1} of {options.rounds}: {rounds[-1][0]:.2f} µs,"
                    f" {rounds[-1][1]:,.0f} per second")
        cpu, rate, resident = zip(*rounds)
        rows.append(row(f"broker, {codec}", median(cpu), 0, median(rate), max(resident)))
    return rows


def passing(rig, process, kcat, codec, count):
    """Microseconds of CPU per record, records per second, and resident MiB."""
    file = rig.folder / "lines"
    with file.open("w") as output:
        for number in range(count):
            # As long as a push's body, and as hard to compress: a device token in it.
            token = hashlib.sha256(number.to_bytes(8, "big")).hexdigest()
            output.write(f"{token}{number:08d}".ljust(BODY_BYTES, "x") + "\n")
    before, begin = process.cpu(), time.monotonic()
    reader = subprocess.Popen(
        [kcat, "-C", "-b", rig.kafka, "-t", TOPIC, "-o", "beginning", "-c", str(count), "-f", "", "-q"],
        stdout=subprocess.DEVNULL)
    writer = subprocess.run(
        [kcat, "-P", "-b", rig.kafka, "-t", TOPIC, "-z", codec, "-X", "linger.ms=5", "-l", str(file)],
        check=False, stdout=subprocess.DEVNULL)
    if writer.returncode != 0 or reader.wait(timeout=120) != 0:
        raise Failure("kcat failed")
    seconds = time.monotonic() - begin
    return (process.cpu() - before) / count, count / seconds, process.resident_mib()
