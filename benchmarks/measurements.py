# SPDX-License-Identifier: Apache-2.0
"""What is measured, one function a benchmark. Each returns the rows of its table."""
import argparse
import contextlib
import datetime
import hashlib
import http.client
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import brokers
import gateways
import latencies
import loads
import pacing
import peers
import people
import programs
import campaigns
import schedules
import starts
from harness import BUILD, PAGES, TOKEN, Failure, Process, Rig, answers, call, free_port, log, wait_until
from loads import numbers
from results import median, quantiles, row


def rounds(options, measure):
    """Runs a warm-up and the measured rounds; returns one list for each value of a round."""
    log("warming up")
    measure()
    results = []
    for number in range(options.rounds):
        results.append(measure())
        log(f"round {number + 1} of {options.rounds}: " + ", ".join(f"{v:.2f}" for v in results[-1]))
    return [list(values) for values in zip(*results)]


def http2(options):
    """The sender's HTTP/2 client from memory, the same on nghttp2, and h2load: each with as many streams at once."""
    with Rig(options) as rig:
        simulator = rig.simulator("--profile", "fast")
        rows = [entry for streams in (100, 1_000) for entry in clients(rig, streams)]
        simulator.check()
        return rows


def clients(rig, streams):
    def client(implementation):
        output = call([
            BUILD / "benchmark-tool", "http2", "localhost", rig.port, rig.folder / "keys" / "root.pem", rig.options.count,
            streams, 1, 262, implementation], timeout=600)
        figures = json.loads(output.strip().splitlines()[-1])
        return figures["cpu_us_per_request"], figures["requests_per_second"], figures["resident_mib"]

    def measure():
        return (
            *client("engine"), rig.h2load(rig.options.count, streams=streams), *client("nghttp2"))

    cpu, rate, resident, yardstick, other_cpu, other_rate, other_resident = rounds(rig.options, measure)
    suffix = "" if streams == 100 else f", {streams} streams"
    return [
        row(f"http2{suffix}", median(cpu), ratio(cpu, yardstick), median(rate), median(resident)),
        row(
            f"http2 on nghttp2{suffix}", median(other_cpu), ratio(other_cpu, yardstick), median(other_rate),
            median(other_resident)),
        row(f"h2load{suffix}", median(yardstick), 1, 0, 0),
    ]


def ratio(values, yardsticks):
    """The median of the rounds' ratios: both sides of each were measured together."""
    return median([value / yardstick for value, yardstick in zip(values, yardsticks)])


def sender(options):
    """The whole sender. Several numbers of partitions or credentials take turns, so that all meet the same machine.

    Beside each stands h2load with as many connections: a push on a connection of its own has a TLS record, a write and a
    read of its own, and no client can share them.
    """
    with contextlib.ExitStack() as stack:
        senders = []
        for count, credentials, apps in itertools.product(
                numbers(options.partitions), numbers(options.credentials), numbers(options.apps)):
            rig = stack.enter_context(many(options, credentials, partitions=count, apps=apps))
            name = f"sender, {count} partitions"
            name += f", {credentials} credentials" if credentials > 1 else ""
            name += f", {apps} apps" if apps > 1 else ""
            senders.append((name, rig, rig.sender(), credentials))

        def measure():
            figures = []
            for _, rig, process, credentials in senders:
                before = process.cpu()
                rate = rig.load("notifications", options.count, "--rate", options.rate)
                cpu = (process.cpu() - before) / options.count
                floor = loads.same_shape(rig, options.count, credentials)
                figures += [cpu, floor, rate, process.resident_mib()]
            return figures

        columns = rounds(options, measure)
        rows, floors = [], {}
        for index, (name, _, _, credentials) in enumerate(senders):
            cpu, yardstick, rate, resident = columns[4 * index:4 * index + 4]
            rows.append(row(name, median(cpu), ratio(cpu, yardstick), median(rate), max(resident)))
            floors.setdefault(credentials, median(yardstick))
        for credentials, floor in floors.items():
            name = "h2load" + (f", {credentials} connections" if credentials > 1 else "")
            rows.append(row(name, floor, 1, 0, 0))
        return rows


@contextlib.contextmanager
def many(options, credentials, **changed):
    """A rig with so many credentials, each with an app of its own, but for the sender."""
    changed = {"apps": 1, **changed}
    changed["apps"] = max(changed["apps"], credentials)
    with Rig(argparse.Namespace(**{**vars(options), **changed})) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        rig.signer(credentials=credentials)
        yield rig


def connections(options):
    """What connections cost that nothing is sent through: resident memory, and percent of a core."""
    rows, first = [], None
    for credentials in numbers(options.credentials):
        with many(options, credentials, partitions=numbers(options.partitions)[0]) as rig:
            process = rig.sender("--counters-interval", "1s")
            rig.load("notifications", options.count)
            share = idle_shares([process])[0]
            # A second one is opened where the first took longer than a second.
            open_now = process.counter("open_connections")
            entry = row(
                f"{credentials} credentials, {open_now} connections", 0, 0, 0, process.resident_mib())
            entry["percent_of_a_core"] = round(share, 2)
            first = first or (open_now, entry["resident_mib"])
            if open_now > first[0]:
                each = (entry["resident_mib"] - first[1]) * 1_024 / (open_now - first[0])
                entry["kib_per_connection"] = round(each, 1)
                log(f"{open_now} connections: {each:.1f} KiB each")
            rows.append(entry)
    return rows


def tokens(options):
    """Thousands of provider tokens at once, for a running sender: what the loop's thread uses, and the longest answer.

    Notifications of another app come all the while, 1,000 per second.
    """
    count = 5_000
    with many(options, 1, partitions=numbers(options.partitions)[0]) as rig:
        process = rig.sender()
        rig.load("notifications", 5_000, "--rate", 1_000)
        results = []
        for number in range(options.rounds):
            steady = rig.start_load("notifications", 5_000, "--rate", 1_000)
            time.sleep(1.5)
            quiet = process.thread_cpu("loop-0")
            time.sleep(1)
            before = process.thread_cpu("loop-0")
            call([
                BUILD / "benchmark-tool", "load", *rig.topics(), "--kind", "provider-tokens", "--count",
                count, "--app", f"com.example.round{number}.app"])
            time.sleep(1)
            used = (process.thread_cpu("loop-0") - before - (before - quiet)) / 1_000
            steady.popen.wait(60)
            times = latencies.newest_times(rig, 5_000)
            results.append((used, times[len(times) // 2], times[-1]))
            log(f"round {number + 1} of {options.rounds}: {used:.1f} ms of the loop, longest answer {times[-1]} ms")
        used, middle, longest = zip(*results)
        entry = row(f"{count} provider tokens", median(used) * 1_000 / count, 0, 0, process.resident_mib())
        entry["latency_ms"] = {
            "loop's CPU": round(median(used), 1), "p50": median(middle), "longest": max(longest)}
        return [entry]


def ingest(options):
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        rig.signer()
        process = rig.ingest()
        rig.sender()

        def measure():
            before = process.cpu()
            rate = rig.load("requests", options.count)
            cpu = (process.cpu() - before) / options.count
            return cpu, rig.h2load(options.count), rate, process.resident_mib()

        cpu, yardstick, rate, resident = rounds(options, measure)
        return [
            row("ingest", median(cpu), ratio(cpu, yardstick), median(rate), max(resident)),
            row("h2load", median(yardstick), 1, 0, 0),
        ]


def simulator(options):
    """CPU of the answering side for one request of h2load. The ratio here is to nghttpd's CPU."""
    with Rig(options) as rig:
        fast = rig.simulator("--profile", "fast")
        fast_port = rig.port
        full = rig.simulator("--record-limit", "0", "--priming=false")
        full_port = rig.port
        nghttpd, nghttpd_port = start_nghttpd(rig)
        servers = [
            ("nghttpd", nghttpd, nghttpd_port),
            ("simulator, validation off", fast, fast_port),
            ("simulator, validation on", full, full_port),
        ]

        def measure():
            figures = []
            for _, process, port in servers:
                before, start = process.cpu(), time.monotonic()
                rig.h2load(options.count, port)
                seconds = time.monotonic() - start
                figures += [(process.cpu() - before) / options.count, options.count / seconds]
            return figures

        columns = rounds(options, measure)
        base = columns[0]
        rows = []
        for index, (name, process, _) in enumerate(servers):
            cpu, rate = columns[2 * index], columns[2 * index + 1]
            rows.append(
                row(name, median(cpu), ratio(cpu, base), median(rate), process.resident_mib()))
        return rows


def start_nghttpd(rig):
    """nghttpd with an empty file at the device's path: it answers 200 without a body."""
    root = rig.folder / "htdocs"
    device = root / "3" / "device"
    device.mkdir(parents=True)
    (device / TOKEN).write_text("")
    keys = rig.folder / "keys"
    port = free_port()
    process = Process(
        "nghttpd", [
            "nghttpd", "-d", root, "-n", 1, "-a", "127.0.0.1", port, keys / "gateway-key.pem",
            keys / "gateway.pem"], rig.folder)
    rig.processes.append(process)
    time.sleep(0.5)
    process.check()
    return process, port


def pipeline(options):
    """Everything, end to end. Several numbers of senders take turns, so that all meet the same machine."""
    with contextlib.ExitStack() as stack:
        rigs = []
        for count in numbers(options.senders):
            rig = stack.enter_context(Rig(options))
            parts = [("broker", rig.broker()), ("simulator", [rig.simulator("--profile", "fast")])]
            rig.signer()
            parts += [("ingest", [rig.ingest()]), ("senders", [rig.sender() for _ in range(count)])]
            rigs.append((count, rig, parts))

        def measure():
            figures = []
            for _, rig, parts in rigs:
                before = [cpu_of(processes) for _, processes in parts]
                rate = rig.load("requests", options.count)
                after = [cpu_of(processes) for _, processes in parts]
                each = [(b - a) / options.count for a, b in zip(before, after)]
                figures += [rig.h2load(options.count), rate, *each]
            return figures

        columns = rounds(options, measure)
        rows = []
        for index, (count, _, parts) in enumerate(rigs):
            yardstick, rate, *costs = columns[6 * index:6 * index + 6]
            for (name, processes), cpu in zip(parts, costs):
                if not processes:
                    continue
                resident = sum(process.resident_mib() for process in processes)
                rows.append(row(
                    f"pipeline, {count} senders: {name}", median(cpu), ratio(cpu, yardstick),
                    median(rate), resident))
        return rows


def lanes(options):
    """Transactional latency at 50 per second, idle and beside a long bulk backlog, milliseconds.

    The gateway answers after 50 ms and allows 100 streams on each connection.
    """
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--latency", "50ms", "--max-concurrent-streams", "100")
        rig.signer()
        process = rig.sender("--max-connections", "2")
        rig.load("notifications", 100, "--rate", 50)
        count = min(options.count, 500)
        before = process.cpu()
        rig.load("notifications", count, "--rate", 50)
        idle = latencies.newest_times(rig, count, lane="transactional")
        backlog = rig.start_load("bulk", 100_000)
        time.sleep(2)
        rig.load("notifications", count, "--rate", 50)
        if backlog.popen.poll() is not None:
            raise Failure("the bulk backlog ended before the measurement did")
        loaded = latencies.newest_times(rig, count, lane="transactional")
        cpu = (process.cpu() - before) / (2 * count)
        rows, ratio_of_p99 = latencies.idle_and_loaded(
            idle, loaded, "with a bulk backlog", cpu, process.resident_mib())
        log(f"p99 beside the backlog is {ratio_of_p99:.2f} times the idle one; the goal is 2")
        return rows


def rebalance(options):
    """How long the partitions that stay go without an answer when a sender joins and when it leaves, milliseconds.

    The coordinator waits for the last member: that wait is told apart, from giving partitions back until the group says
    whose they are.
    """
    rows = []
    for count in numbers(options.partitions):
        changed = {"partitions": count}
        with Rig(argparse.Namespace(**{**vars(options), **changed})) as rig:
            rows.append(rebalances(rig, count, options.rounds, options.rate or 2_000))
    return rows


SESSION = [
    "--kafka.consumer.session.timeout.ms=3000", "--kafka.consumer.heartbeat.interval.ms=300",
    "--log-level", "debug"]


def rebalances(rig, partitions, rounds_wanted, rate):
    """One table row: joins and leaves of a second sender beside one that stays, under a steady load."""
    rig.broker()
    rig.simulator("--latency", "lognormal:20ms,200ms", "--record-limit", "0")
    rig.signer()
    stays = rig.sender(*SESSION)
    wait_for_lines(stays, ASSIGNED, 1)
    rig.load("notifications", 1_000, "--rate", 500)
    # It ends with the benchmark, which takes some 15 s a round on a quiet machine.
    seconds = rounds_wanted * 60 + 60
    load = rig.start_load("notifications", rate * seconds, "--rate", rate)
    pauses, waits = [], []
    for number in range(rounds_wanted):
        time.sleep(2)
        moment = time.time()
        other = rig.sender(*SESSION)
        wait_for_lines(other, ASSIGNED, 1)
        time.sleep(3)
        other.stop()
        wait_for_lines(stays, ASSIGNED, 2 * number + 3)
        time.sleep(2)
        load.check()
        figures = stays_without_answers(rig, stays, moment)
        pauses += figures[0]
        waits += figures[1]
        log(f"{partitions} partitions, round {number + 1} of {rounds_wanted}: {figures[2]}")
    pauses.sort()
    entry = row(f"rebalance, {partitions} partitions", 0, 0, rate, stays.resident_mib())
    entry["latency_ms"] = {**quantiles(pauses), "coordinator's wait": round(median(waits))}
    return entry


ASSIGNED, GIVEN_BACK = "partitions assigned", "partitions given back"
REVOKED, OURS = "partitions revoked", "assigned partitions"


def wait_for_lines(process, text, count):
    wait_until(
        lambda: len(lines_with(process, text)) >= count, process, f"does not say {text!r} {count} times",
        seconds=130)


def lines_with(process, text):
    """The log's lines with a text: when they were written, in milliseconds, and what they say."""
    lines = []
    for line in open(process.log.name, errors="replace"):
        if text in line:
            stamp = datetime.datetime.fromisoformat(line.split(" ", 1)[0].replace("Z", "+00:00"))
            lines.append((stamp.timestamp() * 1_000, line))
    return lines


def field(line, name):
    return line.split(f"{name}=", 1)[1].strip().strip('"')


def stays_without_answers(rig, stays, since):
    """For the rebalances since a moment: how long each partition that stayed had no answer, less the coordinator's
    wait; those waits; and both in words."""
    since *= 1_000
    answers = answers_by_partition(rig, since)
    revoked, back, assigned, ours = (
        lines_with(stays, text) for text in (REVOKED, GIVEN_BACK, ASSIGNED, OURS))
    pauses, waits, words = [], [], []
    for (start, _), (given, _), (end, line), (_, now_ours) in zip(
            revoked, back, assigned[1:], ours[1:]):
        if start < since:
            continue
        before = [text for at, text in ours if at < start][-1]
        kept = set(field(before, "partitions").split()) & set(field(now_ours, "partitions").split())
        waits.append(end - int(field(line, "milliseconds").split()[0]) - given)
        own = sorted(
            gap(answers[name], start, end) - waits[-1] for name in kept if name in answers)
        pauses += own
        words.append(f"{own[-1]:.0f} ms at most beside the coordinator's {waits[-1]:.0f} ms")
    if not pauses:
        raise Failure("there was no rebalance")
    return pauses, waits, ", ".join(words)


def gap(times, start, end):
    """The longest time without an answer that begins or ends between the two."""
    around = [at for at in times if start - 1_000 <= at <= end + 5_000]
    return max((b - a for a, b in zip(around, around[1:]) if b >= start), default=0)


def answers_by_partition(rig, since):
    """When the sender had the gateway's answers, by partition of the lane."""
    places = {}
    for record in map(json.loads, rig.inspect("notifications", "--json")):
        places[record["key"]] = f"push.notifications/{record['partition']}"
    answers = {}
    for receipt in rig.receipts():
        if receipt["at"] >= since - 1_000 and receipt["token"] in places:
            answers.setdefault(places[receipt["token"]], []).append(receipt["at"])
    return {name: sorted(times) for name, times in answers.items()}


def idle(options):
    """What each process costs while nothing happens, in percent of a core."""
    with Rig(options) as rig:
        everything = [
            *rig.broker(), rig.simulator(), rig.signer(), rig.ingest(), rig.sender(), rig.feedback()]
        rig.load("requests", 1_000)
        rows = []
        for process, share in zip(everything, idle_shares(everything)):
            entry = row(process.name, 0, 0, 0, process.resident_mib())
            entry["percent_of_a_core"] = round(share, 2)
            log(f"{process.name}: {share:.2f} % of a core")
            rows.append(entry)
        everyone = row("all", 0, 0, 0, sum(entry["resident_mib"] for entry in rows))
        everyone["percent_of_a_core"] = round(sum(entry["percent_of_a_core"] for entry in rows), 2)
        log(f"all: {everyone['percent_of_a_core']:.2f} % of a core")
        return rows + [everyone]


def idle_shares(processes):
    """What each uses while nothing happens, in percent of a core."""
    time.sleep(3)
    seconds = 20
    before = [process.cpu() for process in processes]
    time.sleep(seconds)
    return [(process.cpu() - start) / seconds / 10_000 for process, start in zip(processes, before)]


def cpu_of(processes):
    return sum(process.cpu() for process in processes)


def store(options):
    """Batched conditional upserts into the token database, on one core: program and server share it."""
    rows = []
    with Rig(options) as rig, PostgresServer(rig.folder) as server:
        places = {"SQLite": lambda n: rig.folder / f"tokens-{n}.db", "PostgreSQL": server.database}
        for name, place in places.items():
            numbers = itertools.count()

            def measure():
                program = ["taskset", "-c", "0", BUILD / "benchmark-tool", "store"]
                return upserts(server, name, [*program, place(next(numbers)), options.count], options.count)

            cpu, rate = rounds(options, measure)
            log(f"{name}: a core that does nothing else takes {1e6 / median(cpu):,.0f} upserts per second")
            rows.append(row(f"store, {name}", median(cpu), 0, median(rate), 0))
    return rows


def upserts(server, name, command, count):
    """CPU of an upsert, that of the server included, and upserts per second, as `benchmark-tool store` measures them."""
    before = server.cpu()
    figures = json.loads(call(command, timeout=3_600).strip().splitlines()[-1])
    served = (server.cpu() - before) / count if name == "PostgreSQL" else 0
    return figures["cpu_us_per_upsert"] + served, figures["upserts_per_second"]


def rebuild(options):
    """A database of --count devices that is filled from nothing, as from its topics, until it is complete."""
    rows = []
    with Rig(options) as rig, PostgresServer(rig.folder) as server:
        numbers = itertools.count()
        for name in ["SQLite", "PostgreSQL"]:
            sizes = []

            def measure():
                if name == "SQLite":
                    place = rig.folder / f"rebuild-{next(numbers)}.db"
                else:
                    place = server.database(None)
                program = [BUILD / "benchmark-tool", "store", place, options.count, "rebuild"]
                figures = upserts(server, name, program, options.count)
                if name == "SQLite":
                    sizes.append(os.path.getsize(place))
                    os.remove(place)
                else:
                    sizes.append(server.size(place))
                return figures

            cpu, rate = rounds(options, measure)
            entry = row(f"rebuild, {name}", median(cpu), 0, median(rate), 0)
            entry["seconds"] = round(options.count / median(rate), 1)
            entry["bytes_per_device"] = round(median(sizes) / options.count)
            log(f"{name}: {entry['seconds']} s, {entry['bytes_per_device']} bytes for each device with its indexes")
            rows.append(entry)
    return rows


def suppression(options):
    """What ingest's table of invalid tokens takes up: resident memory with and without --count tokens."""
    with Rig(options) as rig:
        rig.broker()
        process = rig.start("martlet-ingest", *rig.services(), "--counters-interval", "1s")
        rig.load("invalid-tokens", 1_000)
        wait_for_count(process, "invalid_tokens", 1_000)
        before = process.resident_mib()
        rate = rig.load("invalid-tokens", options.count)
        wait_for_count(process, "invalid_tokens", options.count + 1_000)
        # What librdkafka has fetched goes back.
        time.sleep(3)
        after = process.resident_mib()
        entry = row("ingest, invalid tokens", 0, 0, rate, after)
        entry["mb_per_million"] = round((after - before) * 1.048576 / options.count * 1e6, 1)
        log(f"{options.count:,} invalid tokens: {entry['mb_per_million']} MB per million; the goal is 40")
        return [entry]


def imports(options):
    """martlet tokens import of --count tokens, each time until Kafka has acknowledged all of them."""
    with Rig(options) as rig:
        rig.broker()
        file = rig.folder / "tokens.txt"
        file.write_text("".join(f"{hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(options.count)))
        start = time.monotonic()
        output = call([
            BUILD / "martlet", "tokens", "import", file, "--app", "com.example.app", *rig.topics(), "--json",
            "--progress=false"], timeout=600)
        seconds = time.monotonic() - start
        if json.loads(output.strip().splitlines()[-1])["devices"] != options.count:
            raise Failure(output)
        log(f"{options.count:,} tokens in {seconds:.1f} s; the goal for a million is 60")
        return [row("tokens import", 0, 0, options.count / seconds, 0)]


def wait_for_count(process, counter, count):
    wait_until(
        lambda: process.counter(counter) >= count, process, f"did not get to {counter}={count}", seconds=120,
        every=0.1)


def api(options):
    """The HTTP API: NDJSON through one copy, and single requests one after the other, on the embedded broker.

    NDJSON to a thousand devices, and to one device: its requests have one key, so that one partition gets them all.
    """
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        rig.signer()
        rig.ingest()
        rig.sender()
        process = rig.api(*PAGES)
        status = process.pages()
        wait_until(lambda: answers(f"http://{status}/readyz"), process, "is not ready")
        line = json.dumps({
            "app": "com.example.app", "token": TOKEN, "payload": json.loads((rig.folder / "body.json").read_text())})
        headers = {"Authorization": "Bearer benchmark", "Content-Type": "application/x-ndjson"}
        devices = [line.replace(TOKEN, hashlib.sha256(b"%d" % number).hexdigest()) for number in range(1_000)]

        def ndjson(lines):
            return "".join(f"{lines[number % len(lines)]}\n" for number in range(options.count)).encode()

        def post(body, kind):
            connection.request("POST", "/v1/notifications", body, {**headers, "Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 202:
                raise Failure(f"the API answered {answer.status}: {text[:300]}")
            return text

        connection = http.client.HTTPConnection(process.address("HTTP API"), timeout=600)
        times = []
        for _ in range(1_000):
            start = time.perf_counter()
            post(line, "application/json")
            times.append((time.perf_counter() - start) * 1_000)

        def measure(body):
            before, start = process.cpu(), time.monotonic()
            verdicts = post(body, "application/x-ndjson")
            seconds = time.monotonic() - start
            if verdicts.count(b'"status":202') != options.count:
                raise Failure("not every request was acknowledged")
            return (process.cpu() - before) / options.count, options.count / seconds, process.resident_mib()

        rows = []
        for name, lines in [("api, NDJSON", devices), ("api, NDJSON to one device", [line])]:
            body = ndjson(lines)
            cpu, rate, resident = rounds(options, lambda: measure(body))
            log(f"{name}: one core takes {1e6 / median(cpu):,.0f} requests per second; the goal is 50,000")
            rows.append(row(name, median(cpu), 0, median(rate), max(resident)))
        single = row("api, one request at a time", 0, 0, 0, 0)
        single["latency_ms"] = {name: round(time, 1) for name, time in quantiles(sorted(times)).items()}
        log(f"single requests when idle, in ms: {single['latency_ms']}; the goal for p99 is 20")
        return [*rows, single]


class PostgresServer:
    """A PostgreSQL server of Debian's on the first core, with its usual settings, in the benchmark's folder."""

    def __init__(self, folder):
        self.folder = folder / "postgresql"
        self.count = itertools.count()
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
        if not found:
            raise Failure("there is no PostgreSQL server: apt-get install postgresql")
        self.bin = found[-1]

    def command(self, program, *arguments):
        command = ["env", "-C", self.folder, "taskset", "-c", "0", self.bin / program, *arguments]
        if os.geteuid() == 0:
            # It refuses to run as root.
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        return command

    def run(self, program, *arguments):
        call(self.command(program, *arguments))

    def __enter__(self):
        self.folder.mkdir()
        if os.geteuid() == 0:
            self.folder.parent.chmod(0o755)
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.folder / "data", "-U", "martlet", "-A", "trust")
        # A child of this process, so that its CPU is not taken for that of others.
        self.server = Process(
            "postgres", self.command("postgres", "-D", self.folder / "data", "-k", self.folder, "-h", ""),
            self.folder.parent)
        ready = self.command("pg_isready", "-q", "-h", self.folder)
        wait_until(
            lambda: subprocess.run(ready).returncode == 0, self.server, "took no connections", every=0.1)
        return self

    def database(self, _):
        name = f"store{next(self.count)}"
        self.run("createdb", "-h", self.folder, "-U", "martlet", name)
        return f"postgresql://martlet@/{name}?host={self.folder}"

    def size(self, place):
        """The bytes of the table of devices with its indexes."""
        return int(call(self.command(
            "psql", "-Atq", place, "-c", "SELECT pg_total_relation_size('martlet.devices')")).strip())

    def cpu(self):
        """Microseconds of all its processes, also of those that have ended."""
        server = str(self.server.popen.pid)
        ticks = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                if server in (path.parent.name, fields[1]):
                    ticks += sum(map(int, fields[11:15]))
        return ticks * 1_000_000 / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *_):
        # SIGTERM would wait for clients that are still connected.
        self.server.popen.send_signal(signal.SIGINT)
        self.server.stop()


def campaign(options):
    """Campaigns with SQLite, and with --postgres a server of the run's own."""
    with contextlib.ExitStack() as stack:
        server = None
        if options.postgres:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="martlet-benchmark-"))
            server = stack.enter_context(PostgresServer(pathlib.Path(folder)))
        return campaigns.campaign(options, server and server.database(None))


ALL = {
    "latency": latencies.latency, "feedback": loads.feedback, "backlog": loads.backlog,
    "memory": loads.memory, "scale": loads.scale, "compare": peers.compare, "start": starts.start,
    "broker": brokers.broker, "stored": brokers.stored, "gateway": gateways.gateway,
    "guard": programs.guard, "demo": programs.demo,
    "api": api, "store": store, "rebuild": rebuild, "suppression": suppression,
    "import": imports, "schedule": schedules.schedule, "people": people.people,
    "campaign": campaign,
    "http2": http2, "sender": sender, "ingest": ingest, "simulator": simulator,
    "pipeline": pipeline, "idle": idle,
    "pace": pacing.pace, "governor": pacing.governor, "pile": pacing.pile, "states": pacing.states,
    "lanes": lanes, "rebalance": rebalance, "connections": connections, "tokens": tokens,
}
