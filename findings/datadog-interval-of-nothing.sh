#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# DogStatsD of datadog 0.56.0 counts pushes, 1,000 in each interval after which it sends what it has, with
# `increment("sent", sample_rate=0.1)`, which is to send one in ten and say so. Of 300 intervals
#
# - without aggregation, each has about 100 lines of 1 with "@0.1", which is 1,000 for the server;
# - with `disable_aggregation=False`, nine in ten have nothing at all, and each tenth has 1,000 with "@0.1", which is
#   10,000. A gauge with the same rate is not sent in nine of ten intervals.
#
# It adds up all of an interval, and then draws once whether the sum is sent, which is what the rate was for one push.
#
# Guessed before it was run: each push is drawn, or none is, as the sum is one line either way; so 1,000 in each.
#
# The mean of a day is right. Whoever turns aggregation on, with an alert that no pushes are sent, has it nearly all the
# time, and the rate of a minute is none or ten times too high.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: datadog==0.56.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import random
import socket

from datadog.dogstatsd import DogStatsd

INTERVALS = 300
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.settimeout(20)


def run(aggregated):
    """What the server has for each interval: the counts, with how many lines they came in, and the gauges."""
    random.seed(1)
    address = {"host": "127.0.0.1", "port": receiver.getsockname()[1]}
    client = DogStatsd(**address, disable_telemetry=True, disable_aggregation=not aggregated, flush_interval=10_000)
    intervals = []
    for number in range(INTERVALS):
        for _ in range(1000):
            client.increment("sent", sample_rate=0.1)
        client.gauge("depth", 7, sample_rate=0.1)
        if aggregated:
            client.flush_aggregated_metrics()
        client.increment("end")
        if aggregated:
            client.flush_aggregated_metrics()
        client.flush()
        lines = []
        while "end:1|c" not in lines:
            lines += receiver.recv(65_536).decode().split()
        counts = [line for line in lines if line.startswith("sent:")]
        assert all(line.endswith("|c|@0.1") for line in counts), counts
        total = sum(10 * int(line[5:].split("|")[0]) for line in counts)
        intervals.append((total, len(counts), "depth:7|g|@0.1" in lines))
    client.stop()
    return intervals


print("datadog", importlib.metadata.version("datadog"))
plain, aggregated = run(False), run(True)
totals = [total for total, _, _ in plain]
print(f"  without aggregation: {min(totals)} to {max(totals)} in an interval")
assert min(totals) > 600 and max(totals) < 1400, totals
totals = [(total, lines) for total, lines, _ in aggregated]
none, gauges = totals.count((0, 0)), sum(gauge for _, _, gauge in aggregated)
print(f"  with aggregation: {none} of {INTERVALS} have nothing, others {set(totals) - {(0, 0)}}; {gauges} gauges")
assert set(totals) == {(0, 0), (10_000, 1)}, totals
assert 230 < none < 295 and 5 < gauges < 70, (none, gauges)
PYTHON
