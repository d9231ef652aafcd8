# SPDX-License-Identifier: Apache-2.0
"""The same notifications to the same gateway in the same run, by Martlet and by other clients."""
import json
import pathlib
import shlex
import shutil
import time

import environment
from harness import TOKEN, Failure, Rig, call, children_cpu, log
from results import median, row

CLIENTS = pathlib.Path(__file__).resolve().parent / "clients"
STREAMS = 100
# Notifications of a peer's first run, which only shows what its start costs.
FEW = 200


def compare(options):
    """CPU per notification and rate of each client, beside h2load in the same round.

    The gateway checks everything: some clients tell answers apart by the apns-id that it echoes. A peer of another language sends
    a tenth of the notifications. What its start costs does not count: each round runs
    it twice, with few notifications and with all.
    """
    with Rig(options) as rig:
        rig.broker()
        rig.simulator(
            "--record-limit", "0", "--priming=false", "--throttle", "off", "--max-concurrent-streams", STREAMS)
        rig.signer()
        sender = rig.sender()
        rig.load("notifications", 2_000)
        peers = clients(rig, options.peer)
        columns = {name: [] for name in ["martlet-sender, Kafka on both sides", *peers]}
        floors = []
        for number in range(options.rounds):
            floors.append(rig.h2load(options.count))
            before = sender.cpu()
            rate = rig.load("notifications", options.count)
            columns["martlet-sender, Kafka on both sides"].append(((sender.cpu() - before) / options.count, rate))
            for name, (command, share) in peers.items():
                columns[name].append(measured(command, max(5 * FEW, int(options.count * share))))
            log(f"round {number + 1} of {options.rounds}: " + ", ".join(
                f"{name} {values[-1][0]:.1f} µs" for name, values in columns.items()))
        rows = [row("h2load", median(floors), 1, 0, 0)]
        for name, values in columns.items():
            ratio = median([cpu / floor for (cpu, _), floor in zip(values, floors)])
            cpu, rate = (median(part) for part in zip(*values))
            rows.append(row(name, cpu, ratio, rate, 0))
        return rows


def measured(command, count):
    """CPU microseconds of one notification and how many per second, start-up apart."""
    few_cpu, few_time = run(command(FEW))
    cpu, seconds = run(command(count))
    return (cpu - few_cpu) / (count - FEW), (count - FEW) / max(0.001, seconds - few_time)


def run(command):
    before, start = children_cpu(), time.monotonic()
    call(command, timeout=1_800)
    return (children_cpu() - before) * 1e6, time.monotonic() - start


def clients(rig, templates):
    """By name: a function from a number of notifications to the command that sends them, and its share of them."""
    keys = rig.folder / "keys"
    credential = json.loads((keys / "credentials.json").read_text())["credentials"][0]
    values = {
        "port": rig.port, "roots": keys / "root.pem", "streams": STREAMS, "topic": "com.example.app",
        "token": TOKEN, "body": rig.folder / "body.json", "key": keys / credential["key_file"],
        "key_id": credential["key_id"], "team_id": credential["team_id"],
        "bearer": rig.bearer().removeprefix("authorization: bearer ")}
    built_in = {
        "aioapns": (
            f"{environment.python()} {CLIENTS}/push_with_aioapns.py --port {{port}} --roots {{roots}} --count"
            " {count} --streams {streams} --key {key} --key-id {key_id} --team-id {team_id} --topic {topic}"
            " --token {token} --body {body}", 0.05),
    }
    if shutil.which("node"):
        built_in["node http2"] = (
            f"node {CLIENTS}/push_with_node.js {{port}} {{roots}} {{count}} {{streams}} {{bearer}} {{topic}}"
            " {token} {body}", 0.1)
    for text in templates:
        name, found, template = text.partition("=")
        if not found or "{count}" not in template or "{port}" not in template:
            raise Failure(f"--peer is NAME=COMMAND with {{port}} and {{count}} in the command, not {text}")
        built_in[name] = (template, 0.1)
    return {name: (filled(template, values), share) for name, (template, share) in built_in.items()}


def filled(template, values):
    words = shlex.split(template)
    return lambda count: [word.format(**values, count=count) for word in words]
