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
# As long as the largest payloads.
STORED_BYTES = 4_096
STORED_AT_ONCE = 25_000


def broker(options):
    """CPU of the broker for each record that kcat writes and another kcat reads at the same time, with each codec."""
    kcat = installed_kcat()
    rows = []
    for codec in CODECS:
        rounds = []
        for number in range(options.rounds):
            with Rig(options) as rig:
                rounds.append(passing(rig, own_broker(rig, options), kcat, codec, options.count))
                log(f"{codec}, round {number + 1} of {options.rounds}: {rounds[-1][0]:.2f} µs,"
                    f" {rounds[-1][1]:,.0f} per second")
        cpu, rate, resident = zip(*rounds)
        rows.append(row(f"broker, {codec}", median(cpu), 0, median(rate), max(resident)))
    return rows


def installed_kcat():
    kcat = shutil.which("kcat")
    if not kcat:
        raise Failure("kcat is missing: apt-get install kcat")
    return kcat


def own_broker(rig, options):
    """The embedded broker's process, with the topic of these benchmarks."""
    processes = rig.broker(receipts=options.partitions)
    if not processes:
        raise Failure("a cluster's brokers are not ours to measure: leave out --kafka")
    return processes[0]


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
    client([kcat, "-P", "-b", rig.kafka, "-t", TOPIC, "-z", codec, "-X", "linger.ms=5", "-l", str(file)])
    if reader.wait(timeout=120) != 0:
        raise Failure("kcat failed")
    seconds = time.monotonic() - begin
    return (process.cpu() - before) / count, count / seconds, process.resident_mib()


def stored(options):
    """Resident memory of the broker with --count records of 4 KiB in its folder: after they were written, read from the
    first to the last, and found again by a new start."""
    kcat = installed_kcat()
    with Rig(options) as rig:
        process = own_broker(rig, options)
        file = rig.folder / "lines"
        with file.open("w") as output:
            for number in range(STORED_AT_ONCE):
                output.write(f"{number:08d}".ljust(STORED_BYTES, "x") + "\n")
        count = max(1, options.count // STORED_AT_ONCE) * STORED_AT_ONCE
        begin = time.monotonic()
        for _ in range(count // STORED_AT_ONCE):
            client([kcat, "-P", "-b", rig.kafka, "-t", TOPIC, "-l", str(file)])
        rows = [state("written", process, count, begin)]
        begin = time.monotonic()
        client([kcat, "-C", "-b", rig.kafka, "-t", TOPIC, "-o", "beginning", "-c", str(count), "-f", "", "-q"])
        rows.append(state("read", process, count, begin))
        process.stop()
        begin = time.monotonic()
        process = own_broker(rig, options)
        rows.append(state("found again", process, count, begin))
        return rows


def client(words):
    if subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode != 0:
        raise Failure("kcat failed")


def state(name, process, count, begin):
    """Resident memory, beside it the part that is no file's, and how long it took."""
    seconds = time.monotonic() - begin
    entry = row(f"{count * STORED_BYTES / 1e9:.1f} GB {name}", 0, 0, count / seconds, process.resident_mib())
    entry |= {"seconds": round(seconds, 1), "anonymous_mib": round(process.anonymous_mib(), 1)}
    log(f"{entry['name']} in {seconds:.1f} s: {entry['resident_mib']:.0f} MiB, {entry['anonymous_mib']} of them anonymous")
    return entry
