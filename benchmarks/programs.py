# SPDX-License-Identifier: Apache-2.0
"""Figures of other programs of this repository: the guard's counts and the demo's report."""
import importlib.machinery
import importlib.util
import json
import pathlib

from harness import BUILD, call, log
from loads import numbers
from results import row


def guard(options):
    """Allocations and instructions per notification, as benchmarks/guard counts them: the same on every machine."""
    path = pathlib.Path(__file__).with_name("guard")
    loader = importlib.machinery.SourceFileLoader("guard", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("guard", loader))
    loader.exec_module(module)
    figures = module.measure(type(options)(**{**vars(options), "show": 0}))
    limits = json.loads(module.THRESHOLDS.read_text())
    rows = []
    for name, value in figures.items():
        entry = row(name.replace("_", " "), 0, 0, 0, 0)
        if name in limits:
            entry |= {"each": round(value, 3), "limit": limits[name]["limit"]}
        else:
            entry |= {"each": round(value)}
        rows.append(entry)
    return rows


def demo(options):
    """scripts/demo: generated requests through everything, audited at the end; the round with the median rate."""
    rows = []
    for senders in numbers(options.senders):
        reports = sorted(
            (demonstration(options, senders) for _ in range(options.rounds)),
            key=lambda report: report["notifications_per_second"])
        report = reports[len(reports) // 2]
        entry = row(f"demo, {senders} senders", 0, 0, report["notifications_per_second"], 0)
        entry |= {
            "requests": report["requests"], "notifications": report["notifications"],
            "lost": sum(each["lost"] for each in reports), "duplicates": sum(each["duplicates"] for each in reports),
            "latency_ms": report["latency_ms"]}
        log(f"{entry['name']}: {entry}")
        rows.append(entry)
    return rows


def demonstration(options, senders):
    """What one demo reports."""
    where = ["--kafka", options.kafka] if options.kafka else []
    output = call([
        BUILD / "martlet", "demo", "--requests", options.count, "--senders", senders, "--json", *where], timeout=1_800)
    return json.loads(output.strip().splitlines()[-1])
