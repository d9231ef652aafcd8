# SPDX-License-Identifier: Apache-2.0
"""How punctual the scheduler is when many requests are due within a short time."""
import json
import re
import time

from harness import BUILD, PAGES, TOKEN, Failure, Rig, call, log, wait_until
from loads import completed, metrics
from results import row


def schedule(options):
    """--count requests that are due evenly over --seconds: from their send_at until push.requests has each again.

    The figures come from the scheduler's histogram, so each is the upper bound of its bucket. What ingest makes of the
    released requests has no reader here.
    """
    with Rig(options) as rig:
        rig.broker()
        ingest = rig.ingest()
        process = rig.start(
            "martlet-scheduler", *rig.services(), "--database", rig.folder / "schedule.db",
            *PAGES)
        address = process.pages()
        lead = 20 + options.count / 5_000
        first = time.time() + lead
        file = rig.folder / "requests.ndjson"
        with file.open("w") as output:
            for number in range(options.count):
                due = first + options.seconds * number / options.count
                output.write(json.dumps({
                    "app": "com.example.app", "id": f"r{number}", "token": TOKEN,
                    "payload": {"aps": {"alert": "Good morning"}}, "send_at": moment(due)}) + "\n")
        call([BUILD / "martlet", "import", file, *rig.topics(), "--progress=false"], timeout=600)
        await_event(address, process, "scheduled", options.count)
        left = first - time.time()
        if left < 0:
            raise Failure(f"the requests were scheduled {-left:.1f} s after the first of them was due")
        log(f"{options.count:,} requests wait; the first one is due in {left:.1f} s")
        before = process.cpu()
        await_event(address, process, "released", options.count)
        ingest.check()
        late = lateness(metrics(address))
        entry = row("scheduler", (process.cpu() - before) / options.count, 0, options.count / options.seconds,
                    process.resident_mib())
        entry["lateness_seconds"] = late
        log(f"{options.count:,} due within {options.seconds} s, lateness at most: {late}; the goal for p99 is 2 s")
        return [entry]


def moment(seconds):
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1_000):03}Z"


def await_event(address, process, event, count):
    counter = rf'martlet_scheduler_requests_total{{event="{event}"}}'
    wait_until(
        lambda: completed(address, counter) >= count, process, f"has not {event} {count} requests", seconds=600,
        every=0.2)


def lateness(text):
    """The bucket in which each quantile is."""
    buckets = [
        (float(bound), int(count)) for bound, count in
        re.findall(r'^martlet_scheduler_lateness_seconds_bucket{le="([\d.]+)"} (\d+)', text, re.M)]
    total = int(re.search(r"^martlet_scheduler_lateness_seconds_count (\d+)", text, re.M)[1])
    def at(share):
        return next((bound for bound, count in buckets if count >= share * total), None)
    return {"p50": at(0.5), "p99": at(0.99), "max": at(1)}
