# SPDX-License-Identifier: Apache-2.0
"""How fast a campaign addresses its audience, and that it addresses each device."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import time

from harness import BUILD, Failure, Rig, call, log
from results import row

APP = "com.example.app"
SQLITE = """
    WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})
    INSERT INTO devices (token, app, environment, registered_at, locale, app_version, tags, push_type)
    SELECT packed(printf('%064x', n)), '{app}', 'production', 1000 + n, iif(n % {share} = 0, 'de_AT', 'en'),
        '3.' || (n % 12), iif(n % {share} = 0, 'vip wanted', 'vip'), NULL
    FROM numbers
"""
POSTGRES = """
    INSERT INTO martlet.devices (token, app, environment, registered_at, locale, app_version, tags, push_type)
    SELECT '\\x01'::bytea || decode(lpad(to_hex(n), 64, '0'), 'hex'), '{app}', 'production', 1000 + n,
        CASE WHEN n % {share} = 0 THEN 'de_AT' ELSE 'en' END, '3.' || (n % 12),
        CASE WHEN n % {share} = 0 THEN 'vip wanted' ELSE 'vip' END, NULL
    FROM generate_series(0, {count} - 1) AS n;
    VACUUM ANALYZE martlet.devices
"""


def campaign(options, server):
    """--count registered devices, one of --share of them in the audience of a campaign: from its start until Kafka has the requests.

    With --tokens these are the lines of a file, which the start of the campaign writes to push.audiences first.
    --kills of the scheduler (SIGKILL) come at random times meanwhile. What is on push.campaign-requests afterwards names each
    device of the audience; a kill repeats at most 10,000 devices, under the ids that they had.
    """
    options.partitions = "24"
    with Rig(options) as rig:
        rig.broker(schedule=4)
        devices = server or str(rig.folder / "devices.db")
        fill(devices, 1 if options.tokens else options.count, options.share)
        wanted = {f"{number:064x}" for number in range(0, options.count, options.share)}
        scheduler = Scheduler(rig, devices)
        time.sleep(8)
        file = rig.folder / "campaign.json"
        plan = {"campaign": "benchmark", "request": {"app": APP, "payload": {"aps": {"alert": "Good morning"}}}}
        beside = []
        if options.tokens:
            listed = rig.folder / "tokens.txt"
            listed.write_text("".join(f"{token}\n" for token in wanted))
            beside = ["--tokens", listed]
        else:
            plan["audience"] = {"locale": "de", "app_version": "3.0", "tags_all": ["wanted"]}
        file.write_text(json.dumps(plan))
        begun = time.monotonic()
        call([BUILD / "martlet", "campaign", "start", file, *beside, *rig.topics()], timeout=1_200)
        before, started = scheduler.process.cpu(), time.monotonic()
        if options.tokens:
            log(f"{len(wanted):,} tokens checked and written in {started - begun:.1f} s")
        kills = 0
        dice = random.Random(options.seed)
        while shown(rig, scheduler).get("state") != "done":
            if kills < options.kills and addressed(shown(rig, scheduler)) > kills * len(wanted) / (options.kills + 1):
                time.sleep(dice.random() / 4)
                scheduler.kill()
                kills += 1
            scheduler.process.check()
            if time.monotonic() - started > 1_200:
                raise Failure("the campaign is not done after 20 minutes")
            time.sleep(0.1)
        seconds, cpu = time.monotonic() - started, scheduler.process.cpu() - before
        found = tokens(rig)
        repeats = len(found) - len(set(found))
        if set(found) != wanted or addressed(shown(rig, scheduler)) != len(wanted):
            raise Failure(f"{len(set(found)):,} of {len(wanted):,} devices were addressed")
        if repeats > kills * 10_000:
            raise Failure(f"{repeats:,} devices were addressed twice by {kills} kills")
        entry = row("scheduler", cpu / len(wanted), 0, len(wanted) / seconds, scheduler.process.resident_mib())
        entry.update(devices=options.count, audience=len(wanted), seconds=round(seconds, 1), kills=kills, repeats=repeats)
        log(f"{len(wanted):,} of {options.count:,} devices in {seconds:.1f} s, {kills} kills, {repeats:,} repeats")
        return [entry]


class Scheduler:
    def __init__(self, rig, devices):
        self.rig, self.devices = rig, devices
        self.process = self.start()

    def start(self):
        return self.rig.start(
            "martlet-scheduler", *self.rig.services(), "--database", self.rig.folder / "schedule.db",
            "--devices", self.devices, "--instance-id", "benchmark")

    def kill(self):
        os.kill(self.process.popen.pid, signal.SIGKILL)
        self.process.popen.wait()
        self.process = self.start()


# As martlet-feedback says that it has read its topics.
FILLED = (
    "INSERT INTO {} (id, generation, followed_at, complete_at, has_old_rows, done, total)"
    " VALUES (1, 1, 1, 1, 0, 0, 0) ON CONFLICT (id) DO NOTHING"
)


def fill(devices, count, share):
    """Makes the schema with our own program, and the devices with one statement."""
    call([BUILD / "benchmark-tool", "store", devices, 1, 1])
    started = time.monotonic()
    form = {"count": count, "app": APP, "share": share}
    if devices.startswith("postgresql:"):
        call(["psql", devices, "-q", "-c", "DELETE FROM martlet.devices"])
        call(["psql", devices, "-q", "-c", FILLED.format("martlet.completeness")])
        for statement in POSTGRES.split(";"):
            call(["psql", devices, "-q", "-c", statement.format(**form)], timeout=1_200)
    else:
        with sqlite3.connect(devices) as database:
            database.create_function("packed", 1, bytes.fromhex)
            database.execute("DELETE FROM devices")
            database.execute(FILLED.format("completeness"))
            database.execute(SQLITE.format(**form))
        database.close()
    log(f"{count:,} devices made in {time.monotonic() - started:.0f} s")


def shown(rig, scheduler):
    """What `martlet campaign list NAME` says; nothing while it is not known."""
    command = [BUILD / "martlet", "campaign", "list", "benchmark", "--database", rig.folder / "schedule.db"]
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return json.loads(answer.stdout) if answer.returncode == 0 else {}


def addressed(campaign):
    return campaign.get("addressed", 0)


def tokens(rig):
    """All device tokens of the requests that Kafka has."""
    found = []
    for line in rig.inspect("campaign-requests"):
        found += json.loads(line[line.index('{"id"'):])["tokens"]
    return found
