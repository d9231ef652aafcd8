# SPDX-License-Identifier: Apache-2.0
"""Latency under a steady load: an open loop, so that a stall counts for every record that was due meanwhile."""
import time

import loads
from harness import PAGES, Failure, Rig, log, wait_until
from results import median, quantiles, row

# Of what the pipeline takes, in percent.
LEVELS = (10, 50, 80)
# A producer that lingers would add its own time to what is measured; at higher rates its batches are the load.
ALONE = ("--kafka.producer.linger.ms=0",)
# At 20 per second fewer would be 200 records, of which the p99 is the second longest.
LEAST_IDLE_SECONDS = 30


def latency(options):
    """Request to answer through the whole pipeline, at an idle rate and at shares of what it takes, milliseconds.

    A record's time runs from when it was due (the run's start and its number by the rate), not from when the load came
    to produce it: a load that waits for the pipeline would leave out just those records that wait (coordinated
    omission). At the idle rate the load does not linger.
    """
    with Rig(options) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        rig.signer()
        rig.ingest()
        sender = rig.sender(*PAGES)
        address = sender.pages()
        rig.load("requests", 2_000, "--rate", 500)
        count = min(options.count, 200_000)
        most = median([
            sustained(rig, sender, address, count) for _ in range(max(1, min(options.rounds, 3)))])
        log(f"the pipeline takes {most:,.0f} requests per second")
        steps = [("20 per second", 20, max(options.seconds, LEAST_IDLE_SECONDS), ALONE)]
        steps += [(f"{level} % of saturation", most * level / 100, options.seconds, ()) for level in LEVELS]
        rows = [row("saturation", 0, 0, most, 0)]
        for name, rate, seconds, flags in steps:
            entry = row(name, 0, 0, rate, 0)
            entry["latency_ms"] = paced(rig, int(rate), seconds, *flags)
            log(f"{name}, {rate:,.0f} per second: {entry['latency_ms']}")
            rows.append(entry)
        return rows


def sustained(rig, sender, address, count):
    """What the whole pipeline takes per second: until the sender has all outcomes. Ingest is done before, and its rate is
    one at which the sender falls behind."""
    counter = r"martlet_sender_notifications_total\{[^}]*\}"
    wanted = loads.completed(address, counter) + count
    start = time.monotonic()
    rig.load("requests", count)
    wait_until(
        lambda: loads.completed(address, counter) >= wanted, sender, f"did not finish {count} notifications",
        seconds=600, every=0.01)
    return count / (time.monotonic() - start)


def paced(rig, rate, seconds, *flags, kind="requests"):
    """Runs a load at a rate; its latencies, from when each record was due to its outcome."""
    rate, count = max(1, rate), max(1, rate) * seconds
    result = rig.loaded(kind, count, "--rate", rate, *flags)
    times = sorted(due_times(rig, result, rate))
    if len(times) < count * 0.9:
        raise Failure(f"{len(times)} of {count} receipts were found: use fewer --seconds")
    return quantiles(times)


def newest_times(rig, count, lane=None):
    """The times from record to outcome of the newest receipts, of one lane or of all, sorted, in milliseconds."""
    newest = sorted(
        (receipt for receipt in rig.receipts() if lane in (None, receipt["lane"])),
        key=lambda receipt: receipt["created"])[-count:]
    if len(newest) < count:
        raise Failure(f"{len(newest)} of {count} receipts were found")
    return sorted(receipt["at"] - receipt["created"] for receipt in newest)


def idle_and_loaded(idle, loaded, beside, cpu, resident):
    """The rows of transactional times at 50 per second, idle and beside other work, and the ratio of their p99."""
    rows = []
    for name, times in [("idle", idle), (beside, loaded)]:
        entry = row(f"transactional, {name}", cpu, 0, 50, resident)
        entry["latency_ms"] = quantiles(times)
        log(f"{entry['name']}: {entry['latency_ms']}")
        rows.append(entry)
    ratio = rows[1]["latency_ms"]["p99"] / rows[0]["latency_ms"]["p99"]
    rows[1]["ratio_of_p99"] = round(ratio, 2)
    return rows, ratio


def due_times(rig, result, rate):
    """For each receipt of a run: milliseconds from when its record was due to its outcome."""
    run = f"{result['run']:04x}"
    for receipt in rig.receipts():
        # That of a request to a user, beside those of its devices.
        if receipt["outcome"] == "addressed":
            continue
        # A request's id is its own; a notification's is the apns-id.
        number, tag = (receipt.get("id") or receipt["apns_id"]).split("-")[:2]
        if tag == run:
            due = result["started_at"] + int(number, 16) * 1_000 / rate
            yield max(0, round(receipt["at"] - due, 1))
