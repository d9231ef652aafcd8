# SPDX-License-Identifier: Apache-2.0
"""The pace of a lane, kept by senders that come and one that is killed."""
import json
import signal
import threading
import time
import urllib.request

from harness import BUILD, Failure, Rig, call, log
from loads import numbers
from results import row


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
    """`martlet pace set lane bulk RATE/s` with a backlog: the rate over any 10 s, with 1, 2, … senders and after a kill."""
    rate = options.rate or 137
    counts = numbers(options.senders)
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--record-limit", "0")
        rig.signer()
        call([BUILD / "martlet", "pace", "set", "lane", "bulk", f"{rate}/s", *rig.topics()])
        # More than is sent: an embedded broker takes the rest as it has room.
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
        arrivals.isOver = True
        arrivals.thread.join()
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
