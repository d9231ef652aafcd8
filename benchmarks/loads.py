# SPDX-License-Identifier: Apache-2.0
"""Long and wide loads: a backlog, memory over millions of notifications, and how cost grows with scale."""
import argparse
import contextlib
import itertools
import re
import time
import urllib.request

from harness import PAGES, Failure, Rig, log
from results import median, row

# Receipts in a record of `benchmark-tool load`.
RECEIPTS = 100

# What one loop has in flight at most (--max-in-flight).
IN_FLIGHT = 10_000


def numbers(text):
    return [int(number) for number in str(text).split(",")]


def same_shape(rig, count, connections, *, most=100):
    """h2load as the sender sends: as many connections, as much in flight, at most so many requests on one of them."""
    streams = min(most, max(1, IN_FLIGHT // connections))
    return rig.h2load(count, connections=connections, streams=streams)


def feedback(options):
    """The whole feedback process: answers of APNs about gone devices into its database, or with --keep-receipts outcomes
    of pushes. With --postgres the CPU of the server counts, too.
    """
    kind, lines, flags = ("receipts", RECEIPTS, ["--keep-receipts", "1d"]) if options.keep_receipts else ("feedback", 1, [])
    count = options.count // lines * lines
    with Rig(options) as rig, contextlib.ExitStack() as stack:
        rig.broker(**{kind: options.partitions})
        rig.simulator("--profile", "fast")
        server = stack.enter_context(postgres_server(rig)) if options.postgres else None
        process = rig.feedback(*flags, database=server and server.database(None))
        measured = [process, *([server] if server else [])]

        def load(number):
            return rig.load(kind, number // lines) * lines

        load(2_000)
        results = []
        for number in range(options.rounds):
            before = sum(part.cpu() for part in measured)
            rate = load(count)
            cpu = (sum(part.cpu() for part in measured) - before) / count
            results.append((cpu, rig.h2load(count), rate))
            log(f"round {number + 1} of {options.rounds}: {cpu:.2f} µs, {rate:,.0f} per second")
        cpu, yardstick, rate = zip(*results)
        ratio = median([a / b for a, b in zip(cpu, yardstick)])
        name = ("receipts" if options.keep_receipts else "feedback") + (", PostgreSQL" if server else "")
        return [
            row(name, median(cpu), ratio, median(rate), process.peak_mib()),
            row("h2load", median(yardstick), 1, 0, 0)]


def postgres_server(rig):
    from measurements import PostgresServer
    return PostgresServer(rig.folder)


def backlog(options):
    """A backlog of one credential that a sender finds at its start, and one of requests that ingest finds: from the
    first that is done until the last.

    CPU includes the process's start. Every fetch is full.
    """
    return [
        drain(options, "backlog of", "notifications", Rig.sender, r"martlet_sender_notifications_total\{[^}]*\}"),
        drain(options, "requests: backlog of", "requests", Rig.ingest, "martlet_ingest_requests_total",
              "martlet_ingest_requests_in_flight")]


def drain(options, title, kind, start, counter, pending=None):
    """One row: a backlog of that kind, and the process that works it off, by the counter of its status page.

    A counter that rises when a record is taken needs the gauge of those that are not done yet: `pending`.
    """
    rounds = []
    for number in range(options.rounds):
        with Rig(options) as rig:
            rig.broker()
            count = options.count
            rig.simulator("--profile", "fast")
            rig.signer()
            rig.load(kind, count, "--unread")
            if kind == "requests":
                rig.sender()
            process = start(rig, *PAGES)
            rate = drained(process, process.pages(), count, counter, pending)
            cpu = process.cpu() / count
            resident = process.resident_mib()
            floor = rig.h2load(count)
            rounds.append((cpu, cpu / floor, rate, resident))
            log(f"{kind}, round {number + 1} of {options.rounds}: {cpu:.2f} µs, {rate:,.0f} per second,"
                f" {resident:.0f} MiB")
    cpu, ratio, rate, resident = zip(*rounds)
    return row(f"{title} {count:,}", median(cpu), median(ratio), median(rate), max(resident))


def drained(process, address, count, counter, pending, seconds=600):
    """What is done per second, from the first that is seen to be done until all is."""
    deadline = time.monotonic() + seconds
    first = None
    while time.monotonic() < deadline:
        process.check()
        done, now = completed(address, counter, pending), time.monotonic()
        if done > 0 and first is None:
            first = (done, now)
        if done >= count:
            return (count - first[0]) / max(0.001, now - first[1])
        time.sleep(0.02)
    raise Failure(f"{process.name} did not finish {count} records within {seconds} s:\n{process.tail()}")


def completed(address, counter, pending=None):
    """A counter's sum less the gauge, from a process's status page; 0 as long as there is none."""
    def total(name):
        return int(sum(float(value) for value in re.findall(rf"^{name} (\S+)", text, re.MULTILINE)))
    with contextlib.suppress(OSError):
        text = metrics(address)
        return total(counter) - (total(pending) if pending else 0)
    return 0


def metrics(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return answer.read().decode()


def memory(options):
    """Resident memory of every process over many notifications through the whole pipeline, each second.

    It counts from the end of the first minute (of a short run: of its first third) and is flat if it then stays within
    10 % of what it was.
    """
    with Rig(options) as rig:
        parts = rig.broker()
        parts += [rig.simulator("--profile", "fast"), rig.signer(), rig.ingest(), rig.sender(), rig.feedback()]
        load = rig.start_load("requests", options.count)
        start = time.monotonic()
        samples = [[] for _ in parts]
        while load.popen.poll() is None:
            for process, values in zip(parts, samples):
                process.check()
                values.append(round(process.resident_mib(), 1))
            time.sleep(1)
        seconds = time.monotonic() - start
        if load.popen.returncode != 0:
            raise Failure(f"the load failed:\n{load.tail()}")
        return [flatness(process.name, values, options.count / seconds) for process, values in zip(parts, samples)]


def flatness(name, values, rate):
    warm = min(60, len(values) // 3)
    base, rest = values[warm], values[warm:]
    entry = row(re.sub(r"-\d+$", "", name), 0, 0, rate, max(rest))
    entry |= {
        "after_warm_up_mib": base, "least_percent": round(100 * min(rest) / base - 100, 1),
        "most_percent": round(100 * max(rest) / base - 100, 1)}
    entry["flat"] = -10 <= entry["least_percent"] and entry["most_percent"] <= 10
    log(f"{entry['name']}: {base} MiB, then {entry['least_percent']} to {entry['most_percent']} %")
    return entry


def scale(options):
    """How cost and rate change with senders, loops, partitions and credentials, behind a gateway of 50 ms."""
    rows = []
    shapes = itertools.product(
        numbers(options.senders), numbers(options.loops), numbers(options.partitions), numbers(options.credentials))
    for senders, loops, partitions, credentials in shapes:
        changed = {"loops": loops, "partitions": partitions, "apps": credentials}
        with Rig(argparse.Namespace(**{**vars(options), **changed})) as rig:
            rig.broker()
            rig.simulator("--profile", "fast", "--latency", "50ms")
            rig.signer(credentials=credentials)
            processes = [rig.sender() for _ in range(senders)]
            rig.load("notifications", max(2_000, 20 * credentials))
            results = []
            for _ in range(options.rounds):
                before = sum(process.cpu() for process in processes)
                rate = rig.load("notifications", options.count)
                cpu = (sum(process.cpu() for process in processes) - before) / options.count
                floor = same_shape(rig, options.count, max(10, credentials), most=1_000)
                results.append((cpu, cpu / floor, rate))
            cpu, ratio, rate = (median(values) for values in zip(*results))
            resident = sum(process.resident_mib() for process in processes)
            entry = row(
                f"{senders} × {loops} loops, {partitions} partitions, {credentials} credentials", cpu, ratio, rate,
                resident)
            entry |= {"senders": senders, "loops": loops, "partitions": partitions, "credentials": credentials}
            log(f"{entry['name']}: {cpu:.2f} µs, {ratio:.2f} × h2load, {rate:,.0f} per second")
            rows.append(entry)
    return rows
