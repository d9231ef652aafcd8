# SPDX-License-Identifier: Apache-2.0
"""Whether `martlet plan` predicts runs of this machine that its costs were not measured in."""
import argparse
import json

import page
import results
from harness import BUILD, Failure, Rig, call, log
from latencies import paced
from results import median, row

# Percent that a prediction may be off.
TOLERANCE = 20


def plan(options):
    """Five predictions beside five measured runs of one sender loop.

    The plan's costs come from benchmarks/results as they are now, scaled by h2load in the same rounds. Two runs ask for CPU at rates at
    which no cost was measured, one at another number of partitions, one for latency, one for what a slow gateway allows.
    """
    rows = [
        cpu(options, 2_000, 12), cpu(options, 10_000, 12), cpu(options, 10_000, 32), latency(options, 5_000),
        slow_gateway(options, 200)]
    worst = max(abs(entry["off_percent"]) for entry in rows)
    log(f"the worst prediction is {worst:.0f} % off; the limit is {TOLERANCE} %")
    return rows


def predicted(rate, latency, yardstick, **flags):
    """What the plan says of one loop, on a machine where h2load takes so many microseconds."""
    words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", value)]
    ratios = page.sender_costs(results.load(results.ROOT / "benchmarks" / "results"))
    if ratios is None:
        raise Failure("there are no costs: benchmarks/run all --only sender,sender-partitions-paced")
    words += ["--sender-costs", ",".join(f"{ratio * yardstick:.3f}" for ratio in ratios)]
    output = call([
        BUILD / "martlet", "plan", "--json", "--rate", rate, "--latency", latency, "--loops", 1, "--bulk", 0,
        "--h2load", f"{yardstick:.3f}", *words])
    return json.loads(output.strip().splitlines()[-1])


def compared(name, unit, predictions, measured):
    """A row with the worst of its predictions."""
    off = [100 * (found / real - 1) for found, real in zip(predictions, measured)]
    entry = row(name, 0, 0, 0, 0)
    entry |= {
        "unit": unit, "predicted": " and ".join(f"{value:.4g}" for value in predictions),
        "measured": " and ".join(f"{value:.4g}" for value in measured),
        "off_percent": round(max(off, key=abs), 1)}
    log(f"{name}: predicted {entry['predicted']}, measured {entry['measured']} {unit}")
    return entry


def on(options, partitions):
    return Rig(argparse.Namespace(**{**vars(options), "partitions": partitions, "loops": 1, "apps": 1}))


def cpu(options, rate, partitions):
    with on(options, partitions) as rig:
        rig.broker()
        rig.simulator("--profile", "fast")
        rig.signer()
        process = rig.sender()
        rig.load("notifications", rate * 2, "--rate", rate)
        results = []
        for _ in range(min(options.rounds, 3)):
            count = rate * options.seconds
            before = process.cpu()
            rig.load("notifications", count, "--rate", rate)
            used = (process.cpu() - before) / count
            results.append((used, rig.h2load(100_000)))
        used, yardstick = (median(values) for values in zip(*results))
        found = predicted(rate, "1ms", yardstick, lane_partitions=partitions)
        return compared(
            f"CPU at {rate:,} per second, {partitions} partitions", "µs per notification", [found["sender_us"]], [used])


def latency(options, rate):
    """p50 and p99 in milliseconds; Kafka's part, which the plan does not know, is what a gateway without latency takes."""
    with on(options, 12) as rig:
        rig.broker(receipts=64)
        rig.simulator("--record-limit", "0")
        rig.signer()
        fast = rig.sender()
        rig.load("notifications", 2_000, "--rate", 500)
        base = min(
            (paced(rig, rate, options.seconds, kind="notifications") for _ in range(2)), key=lambda times: times["p50"])
        # While answers are fast: waiting for slow ones costs h2load more than a request does.
        yardstick = rig.h2load(100_000)
        fast.stop()
        rig.processes.remove(fast)
        rig.simulator("--record-limit", "0", "--latency", "lognormal:50ms,400ms")
        rig.sender()
        rig.load("notifications", 2_000, "--rate", 500)
        measured = paced(rig, rate, options.seconds, kind="notifications")
        found = predicted(rate, "lognormal:50ms,400ms", yardstick)
        return compared(
            f"p50 and p99 at {rate:,} per second behind 50 ms, p99 400 ms", "ms",
            [found["p50_ms"] + base["p50"], found["p99_ms"] + base["p50"]], [measured["p50"], measured["p99"]])


def slow_gateway(options, milliseconds):
    """Notifications per second of one loop when what it may hold is the limit."""
    with on(options, 12) as rig:
        rig.broker()
        rig.simulator("--record-limit", "0", "--latency", f"{milliseconds}ms")
        rig.signer()
        rig.sender("--max-in-flight", 1_000)
        # Connections open at one per second.
        rig.load("notifications", 25_000)
        rates = [rig.load("notifications", 50_000) for _ in range(min(options.rounds, 3))]
        found = predicted(20_000, f"{milliseconds}ms", 2, max_in_flight=1_000)
        return compared(
            f"one loop of 1,000 in flight behind {milliseconds} ms", "per second", [found["answers_per_second"]], [median(rates)])
