# SPDX-License-Identifier: Apache-2.0
"""When pushes go: a lane's pace, bulk beside a gateway that queues, and what has piled up."""
import json
import signal
import threading
import time
import urllib.request

from harness import BUILD, Failure, Rig, call, log
from latencies import idle_and_loaded, newest_times
from loads import numbers
from results import row


# Requests a second above which the gateway checks nothing.
FULL_CHECKS = 5_000
# Of the gateway that queues.
CAPACITY = 1_000
# How long there is no signer, and what comes meanwhile.
OUTAGE_SECONDS = 50
DEVICES, PUSHES = 10, 300
# Updates a second of each device, of which the gateway takes a tenth.
UPDATES = 10


class Arrivals:
    """How many requests the gateway has answered, asked ten times a second."""

    def __init__(self, admin):
        self.url = f"http://{admin}/counters"
        self.samples = []
        self.isOver = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.isOver:
            begun = time.time()
            with urllib.request.urlopen(self.url, timeout=10) as answer:
                count = json.load(answer)["accepted"]
            # A time between question and answer, which are close together.
            self.samples.append(((begun + time.time()) / 2, count))
            time.sleep(0.1)

    def stop(self):
        self.isOver = True
        self.thread.join()

    def windows(self, start=0, end=float("inf"), seconds=10):
        """The rates of all stretches of so many seconds between two times."""
        samples = [sample for sample in self.samples if start <= sample[0] <= end]
        rates, last = [], 0
        for time_of_first, first in samples:
            while last < len(samples) and samples[last][0] < time_of_first + seconds:
                last += 1
            if last == len(samples):
                break
            rates.append((samples[last][1] - first) / (samples[last][0] - time_of_first))
        return rates


def pace(options):
    """`martlet pace lane bulk RATE/s` with a backlog: the rate over any 10 s, with 1, 2, … senders and after a kill."""
    rate = options.rate or 137
    counts = numbers(options.senders)
    with Rig(options) as rig:
        rig.broker()
        # A simulator that checks each request takes as much CPU as a sender.
        rig.simulator("--record-limit", "0", *(("--profile", "fast") if rate > FULL_CHECKS else ()))
        rig.signer()
        call([BUILD / "martlet", "pace", "lane", "bulk", f"{rate}/s", *rig.topics()])
        # More than is sent.
        rig.start_load("bulk", rate * (len(counts) + 1) * 60)
        arrivals = Arrivals(rig.admin)
        senders, rows = [], []
        for count in counts:
            while len(senders) < count:
                senders.append(rig.sender())
            rows.append(steady(arrivals, rate, f"{count} sender{'s' if count > 1 else ''}", senders, 8))
        if len(senders) > 1:
            killed = senders.pop(0)
            killed.popen.send_signal(signal.SIGKILL)
            # Its session, and the rebalance after it.
            rows.append(steady(arrivals, rate, f"after one of {len(senders) + 1} was killed", senders, 16))
        arrivals.stop()
        fastest = max(arrivals.windows())
        log(f"fastest ten seconds of the whole run: {fastest:.1f}/s, {fastest / rate - 1:+.2%}")
        rows[-1]["fastest_per_second"] = round(fastest, 1)
        if fastest > rate * 1.01:
            raise Failure(f"{fastest:.1f}/s is faster than {rate}/s")
        return rows


def steady(arrivals, rate, name, senders, settling):
    """The rates of ten seconds during twelve, after a rebalance had its time."""
    time.sleep(settling)
    start, before = time.time(), sum(process.cpu() for process in senders)
    time.sleep(14)
    for process in senders:
        process.check()
    rates = arrivals.windows(start)
    sent = (sum(process.cpu() for process in senders) - before) / (rate * 14)
    entry = row(f"pace of {rate}/s, {name}", sent, 0, sum(rates) / len(rates), senders[0].resident_mib())
    entry["slowest_per_second"], entry["fastest_per_second"] = round(min(rates), 1), round(max(rates), 1)
    log(f"{name}: {min(rates):.1f} to {max(rates):.1f}/s over ten seconds"
        f" ({min(rates) / rate - 1:+.2%}, {max(rates) / rate - 1:+.2%})")
    return entry


def governor(options):
    """Transactional latency at 50 a second and bulk's part of a gateway that does CAPACITY a second, one after the other.

    Idle, and beside a bulk backlog that has all streams that it may have: milliseconds from record to outcome.
    """
    with Rig(options) as rig:
        rig.broker()
        capacity = options.rate or CAPACITY
        rig.simulator("--latency", "20ms", "--capacity", capacity, "--queue", 1_000_000, "--record-limit", "0")
        rig.signer()
        sender = rig.sender()
        rig.load("notifications", 100, "--rate", 50)
        count = 50 * max(20, options.seconds)
        before = sender.cpu()
        rig.load("notifications", count, "--rate", 50)
        idle = newest_times(rig, count, lane="transactional")
        rig.start_load("bulk", capacity * 300)
        # Bulk comes with all its streams at once, and gives them up: that shows in answers of the first lane only.
        rig.load("notifications", 50 * 20, "--rate", 50)
        arrivals = Arrivals(rig.admin)
        begun = time.time()
        rig.load("notifications", count, "--rate", 50)
        ended = time.time()
        arrivals.stop()
        sender.check()
        loaded = newest_times(rig, count, lane="transactional")
        rates = arrivals.windows(begun, ended)
        bulk = sum(rates) / len(rates) - 50
        rows, ratio = idle_and_loaded(
            idle, loaded, "beside bulk", (sender.cpu() - before) / count, sender.resident_mib())
        rows[1]["bulk_of_capacity"] = round(bulk / capacity, 3)
        log(f"p99 beside bulk is {ratio:.2f} times the idle one; bulk has {bulk:.0f}/s, {bulk / capacity:.1%} of {capacity}")
        if ratio > 1.5 or bulk < 0.9 * capacity:
            raise Failure("the goals are 1.5 times and 90 %")
        return rows


def pile(options):
    """What a gateway gets after 50 s without a signer in which 300 pushes came for each of ten devices.

    Half of them have the collapse id of their device: of those, only the newest is of use.
    """
    with Rig(options) as rig:
        rig.broker()
        rig.simulator()
        rig.ingest()
        sender = rig.sender()
        requests = rig.folder / "pile.jsonl"
        requests.write_text("".join(
            json.dumps({
                "id": f"{device}-{number}", "app": "com.example.app", "token": f"{device:064x}",
                "payload": {"aps": {"alert": f"{number}"}},
                **({"collapse_id": "score"} if number % 2 else {})}) + "\n"
            for number in range(PUSHES) for device in range(DEVICES)))
        call([BUILD / "martlet", "import", requests, *rig.topics()])
        time.sleep(OUTAGE_SECONDS)
        signer = rig.signer()
        count, receipts = DEVICES * PUSHES, []
        begun = time.time()
        while len(receipts) < count:
            if time.time() > begun + 120:
                raise Failure(f"{len(receipts)} of {count} receipts after two minutes")
            time.sleep(1)
            receipts = list(rig.receipts())
        signer.check()
        with urllib.request.urlopen(f"http://{rig.admin}/requests", timeout=30) as answer:
            arrived = [json.loads(line) for line in answer.read().splitlines() if line]
        outcomes = {receipt["id"]: receipt["outcome"] for receipt in receipts}
        superseded = sum(outcome == "superseded" for outcome in outcomes.values())
        newest = sum(outcomes[f"{device}-{PUSHES - 1}"] == "delivered" for device in range(DEVICES))
        times = [request["time"] for request in arrived]
        entry = row(
            f"{count} pushes after {OUTAGE_SECONDS} s without a signer", sender.cpu() / count, 0,
            len(arrived), sender.resident_mib())
        entry["sent"], entry["superseded"] = len(arrived), superseded
        log(f"{len(arrived)} of {count} were sent within {max(times) - min(times)} ms, {superseded} superseded;"
            f" the newest of {newest} of {DEVICES} devices was delivered")
        if superseded != DEVICES * (PUSHES // 2 - 1) or newest < DEVICES or len(arrived) + superseded != count:
            raise Failure(f"of each device one of {PUSHES // 2} with a collapse id is to be sent")
        return [entry]


def states(options):
    """--count devices with ten updates a second each, of which the gateway takes a tenth, for a minute with troubles.

    One of two senders is killed, the gateway answers 503 for 3 s, and for 5 s there is no sender. By the gateway's order
    no push of a device may be accepted after a newer one, and each device's last must be.
    """
    devices = options.count
    count = devices * UPDATES * max(40, options.seconds)
    with Rig(options) as rig:
        broker = rig.broker()
        rig.simulator("--capacity", devices, "--max-concurrent-streams", max(10, devices // 20),
                      "--latency", "20ms", "--record-limit", "10000000")
        rig.signer()
        senders = [rig.sender("--max-connections", "1") for _ in range(2)]
        load = rig.start_load("notifications", count, "--devices", devices, "--rate", devices * UPDATES,
                              "--kafka.producer.linger.ms", 50)
        time.sleep(8)
        log("one of two senders is killed")
        used = end(rig, senders.pop(0), signal.SIGKILL)
        time.sleep(1)
        senders.append(rig.sender("--max-connections", "1"))
        time.sleep(10)
        log("the gateway answers 503 for 3 s")
        ask(rig, "faults", {"rules": [{"id": "service_unavailable"}]})
        time.sleep(3)
        ask(rig, "faults", None)
        time.sleep(5)
        log("there is no sender for 5 s")
        for sender in senders:
            used += end(rig, sender, signal.SIGTERM)
        time.sleep(5)
        senders = [rig.sender("--max-connections", "1") for _ in range(2)]
        if load.popen.wait(timeout=options.seconds + 300) != 0:
            raise Failure(f"the load failed:\n{load.tail()}")
        produced = json.loads(load.tail().strip().splitlines()[-1])
        with urllib.request.urlopen(f"http://{rig.admin}/requests", timeout=120) as answer:
            accepted = [request for request in map(json.loads, answer) if request["status"] == 200]
        newest, overtaken, twice = {}, 0, 0
        for request in accepted:
            number = int(request["apns_id"][:8], 16)
            last = newest.get(request["token"], -1)
            overtaken += number < last
            twice += number == last
            newest[request["token"]] = max(number, last)
        missing = sum(
            newest.get(f"{device:064x}", -1) != count - devices + device for device in range(devices))
        entry = row(
            f"{devices} devices", (used + sum(sender.cpu() for sender in senders)) / count, 0,
            produced["produced"] / produced["seconds"], senders[0].resident_mib())
        entry["accepted"], entry["older_after_newer"], entry["last_missing"] = len(accepted), str(overtaken), str(missing)
        log(f"{count:,} updates of {devices:,} devices in {produced['seconds']:.0f} s: {len(accepted):,} accepted,"
            f" {twice} of them twice; {overtaken} older after newer, {missing} last states missing")
        for process in broker:
            process.check()
        if overtaken or missing:
            raise Failure("no push may be accepted after a newer one, and every last one has to be")
        return [entry]


def end(rig, process, how):
    """Ends one process of the rig before its time; returns the CPU that it has used."""
    used = process.cpu()
    process.popen.send_signal(how)
    process.popen.wait(timeout=60)
    rig.processes.remove(process)
    return used


def ask(rig, path, content):
    """Posts to the simulator's control port; nothing: deletes."""
    request = urllib.request.Request(
        f"http://{rig.admin}/{path}", method="DELETE" if content is None else "POST",
        data=None if content is None else json.dumps(content).encode())
    urllib.request.urlopen(request, timeout=10).close()
