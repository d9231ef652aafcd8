#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An `async def push()` that takes 0.3 s and then raises an error, under decorators that measure or guard a function:
#
# - prometheus-client 0.26.0: `Histogram.time()` observes less than a millisecond, `Gauge.track_inprogress()` shows 0
#   while it runs, and `Counter.count_exceptions()` counts none.
# - pybreaker 1.4.1: a breaker that is to open after two failures stays closed after five, and each push is sent.
# - prometheus-async 26.1.0, statsd 4.0.1 and circuitbreaker 2.1.3 are right.
#
# What they wrap is the call, which returns a coroutine at once and without an error. There is no warning.
#
# Guessed before it was run: a decorator measures until the awaited function ends, or refuses a function of this kind.
#
# Whoever measures pushes so sees a latency of 20 µs and no failures on the dashboard, whatever happens, and goes on
# sending to a gateway that is down.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: prometheus-client==0.26.0 \
  prometheus-async==26.1.0 pybreaker==1.4.1 circuitbreaker==2.1.3 statsd==4.0.1
"$folder/python/bin/python" -W error - <<'PYTHON'
import asyncio
import socket

import circuitbreaker
import prometheus_async.aio
import prometheus_client
import pybreaker
import statsd

seconds = prometheus_client.Histogram("seconds", "of a push")
open_now = prometheus_client.Gauge("open", "pushes")
failures = prometheus_client.Counter("failures", "of pushes")
other_seconds = prometheus_client.Histogram("other_seconds", "of a push")
other_failures = prometheus_client.Counter("other_failures", "of pushes")
agent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
agent.bind(("127.0.0.1", 0))
sent = []


async def push():
    sent.append(value("open"))
    await asyncio.sleep(0.3)
    raise ConnectionError("the gateway is down")


async def failed(function, times):
    names = []
    for _ in range(times):
        try:
            await function()
        except Exception as error:
            names.append(type(error).__name__)
    return names


def value(name):
    return prometheus_client.REGISTRY.get_sample_value(name)


def run(function, times):
    sent.clear()
    return asyncio.run(failed(function, times))


assert run(seconds.time()(open_now.track_inprogress()(failures.count_exceptions()(push))), 1) == ["ConnectionError"]
seen = value("seconds_sum"), sent[0], value("failures_total")
print(f"prometheus-client: {seen[0] * 1e6:.0f} µs, {seen[1]:.0f} open while it ran, {seen[2]:.0f} failures")
assert value("seconds_count") == 1 and seen[0] < 0.1 and seen[1:] == (0, 0), seen

other = prometheus_async.aio.time(other_seconds)(prometheus_async.aio.count_exceptions(other_failures)(push))
assert run(other, 1) == ["ConnectionError"]
print(f"prometheus-async: {value('other_seconds_sum'):.1f} s, {value('other_failures_total'):.0f} failure")
assert value("other_seconds_sum") >= 0.3 and value("other_failures_total") == 1

client = statsd.StatsClient("127.0.0.1", agent.getsockname()[1])
assert run(client.timer("push")(push), 1) == ["ConnectionError"]
said = agent.recv(1000).decode()
print(f"statsd: {said}")
assert float(said.split(":")[1].split("|")[0]) >= 300, said

breaker = pybreaker.CircuitBreaker(fail_max=2)
names = run(breaker(push), 5)
print(f"pybreaker: {breaker.current_state}, {breaker.fail_counter} failures, {len(sent)} sent")
assert names == ["ConnectionError"] * 5 and breaker.current_state == "closed" and len(sent) == 5, names

names = run(circuitbreaker.circuit(failure_threshold=2)(push), 5)
print(f"circuitbreaker: {len(sent)} sent, then {names[2:]}")
assert names == ["ConnectionError"] * 2 + ["CircuitBreakerError"] * 3 and len(sent) == 2, names
PYTHON
