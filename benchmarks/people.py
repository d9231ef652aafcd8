# SPDX-License-Identifier: Apache-2.0
"""What it costs a request to name a user in place of a token, among many registered devices."""
import time

from harness import BUILD, Failure, Rig, call, log
from latencies import ALONE, due_times
from loads import EMBEDDED_RECORDS
from results import median, quantiles, row

RATE = 50


def people(options):
    """Milliseconds from when a request was due to its answer of the gateway: to tokens, and to users with a device each.

    --count devices are registered, each of another user. Rounds alternate between the two; the figure is the median of
    the rounds' quantiles, and the difference of the two is what looking up costs.
    """
    from measurements import PostgresServer

    rows = []
    for kind in ("sqlite", "postgres"):
        with Rig(options) as rig:
            if kind == "sqlite":
                rows += measured(options, rig, kind, rig.folder / "tokens.db", rig.folder / "schedule.db")
            else:
                with PostgresServer(rig.folder) as server:
                    location = server.database(None)
                    rows += measured(options, rig, kind, location, location)
    return rows


def measured(options, rig, kind, devices, schedule):
    rig.broker(devices=max(12, 1 + 2 * options.count // EMBEDDED_RECORDS))
    rig.simulator("--profile", "fast")
    rig.signer()
    rig.feedback(database=devices)
    register(options, rig, devices)
    rig.ingest()
    rig.sender()
    rig.start("martlet-scheduler", *rig.services(), "--database", schedule, "--devices", devices)
    rate = options.rate or RATE
    kinds = {"token": (), "user": ("--users", options.count)}
    for flags in kinds.values():
        rig.loaded("requests", 10 * rate, "--rate", rate, *ALONE, *flags)
    times = {name: [] for name in kinds}
    for number in range(options.rounds):
        for name, flags in kinds.items():
            times[name].append(paced(rig, rate, options.seconds, *flags))
            log(f"{kind}, round {number + 1} of {options.rounds}, to a {name}: {times[name][-1]}")
    rows = []
    for name, found in times.items():
        entry = row(f"{kind}, {options.count:,} devices, to a {name}", 0, 0, rate, 0)
        entry["latency_ms"] = {key: median([round[key] for round in found]) for key in found[0]}
        rows.append(entry)
    more = rows[1]["latency_ms"]["p99"] - rows[0]["latency_ms"]["p99"]
    log(f"{kind}: p99 to a user is {more:.1f} ms above p99 to a token; the goal is 50 ms at most")
    return rows


def paced(rig, rate, seconds, *flags):
    result = rig.loaded("requests", rate * seconds, "--rate", rate, *ALONE, *flags)
    # Ingest has committed the last request; its device's answer follows.
    for _ in range(60):
        times = sorted(due_times(rig, result, rate))
        if len(times) == rate * seconds:
            return quantiles(times)
        time.sleep(0.5)
    raise Failure(f"{len(times)} of {rate * seconds} answers came")


def register(options, rig, database):
    rig.loaded("devices", options.count, "--users", options.count, timeout=1_200)
    end = time.monotonic() + 1_200
    known = -1
    while known < options.count:
        if time.monotonic() > end:
            raise Failure(f"feedback has {known:,} of {options.count:,} devices")
        for process in rig.processes:
            process.check()
        time.sleep(0.5)
        known = registered(database)
    log(f"{known:,} devices are registered")


def registered(database):
    """The devices in the database; 0 as long as there is none."""
    try:
        answer = call([BUILD / "martlet", "tokens", "list", "--database", database, "--count"])
    except Failure:
        return 0
    return int(dict(line.split() for line in answer.splitlines())["registered"])
