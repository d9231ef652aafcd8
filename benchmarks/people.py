# SPDX-License-Identifier: Apache-2.0
"""What it costs a request to name a user in place of a token, among many registered devices."""
import contextlib
import sqlite3
import time

from harness import PAGES, Failure, Rig, answers, log, wait_until
from latencies import ALONE, due_times
from results import median, quantiles, row

RATE = 50
APP = "com.example.app"


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
                    rows += measured(options, rig, kind, location, location, server)
    return rows


def measured(options, rig, kind, devices, schedule, server=None):
    rig.broker()
    rig.simulator("--profile", "fast")
    rig.signer()
    feedback = rig.feedback(*PAGES, database=devices)
    address = feedback.pages()
    wait_until(lambda: answers(f"http://{address}/readyz"), feedback, "is not ready", seconds=60)
    register(options.count, devices, server)
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


def register(count, database, server):
    """Fills the database that feedback has made, as so many registrations would: an hour of them is not what is measured."""
    columns = "devices (token, app, environment, registered_at, user_name)"
    if server:
        server.run(
            "psql", "-q", "-h", server.folder, "-U", "martlet", database.split("/")[3].split("?")[0], "-c",
            f"INSERT INTO martlet.{columns} SELECT '\\x01'::bytea || sha256(i::text::bytea), '{APP}', 'production',"
            f" 1795000000000, 'u' || i FROM generate_series(0, {count - 1}) AS i; ANALYZE martlet.devices")
    else:
        with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
            connection.execute("PRAGMA cache_size = -1000000")
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
                f" INSERT INTO {columns} SELECT randomblob(32), '{APP}', 'production', 1795000000000, 'u' || i"
                " FROM n", (count,))
    log(f"{count:,} devices are registered")
