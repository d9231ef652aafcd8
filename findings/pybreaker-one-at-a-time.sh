#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten threads send a push each, which takes 0.3 s, through one circuit breaker, which is closed: nothing has failed. How
# many are on their way at a time:
#
# - pybreaker 1.4.1, as a decorator and with `call`: one, and all ten take three seconds.
# - pybreaker, `with breaker.calling()`: all ten.
# - circuitbreaker 2.1.3, aiobreaker 1.2.0 and purgatory-circuitbreaker 0.7.2: all ten.
#
# It holds its lock, which makes it safe with threads, while the guarded function runs.
#
# What one would guess: a breaker that is closed counts what fails, and is not in the way.
#
# Whoever puts one around the client of a gateway has, for all threads, as many pushes a second as one thread sends.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary pybreaker==1.4.1 circuitbreaker==2.1.3 \
  aiobreaker==1.2.0 purgatory-circuitbreaker==0.7.2 typing-extensions==4.16.0
"$folder/python/bin/python" - <<'PYTHON'
import concurrent.futures
import importlib.metadata
import threading
import time

import aiobreaker
import circuitbreaker
import purgatory
import pybreaker

lock = threading.Lock()
under_way = most = 0


def push():
    global under_way, most
    with lock:
        under_way += 1
        most = max(most, under_way)
    time.sleep(0.3)
    with lock:
        under_way -= 1


def in_threads(guarded):
    global most
    most, begin = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(10) as threads:
        for done in [threads.submit(guarded) for _ in range(10)]:
            done.result()
    return most, time.monotonic() - begin


def with_calling():
    with breaker.calling():
        push()


names = ("pybreaker", "circuitbreaker", "aiobreaker", "purgatory-circuitbreaker")
print(*(f"{name} {importlib.metadata.version(name)};" for name in names))
breaker = pybreaker.CircuitBreaker()
for name, guarded, one in (
    ("pybreaker, decorator", pybreaker.CircuitBreaker()(push), True),
    ("pybreaker, call", lambda: breaker.call(push), True),
    ("pybreaker, calling()", with_calling, False),
    ("circuitbreaker", circuitbreaker.CircuitBreaker()(push), False),
    ("aiobreaker", aiobreaker.CircuitBreaker()(push), False),
    ("purgatory", purgatory.SyncCircuitBreakerFactory()("pushes")(push), False),
):
    seen, seconds = in_threads(guarded)
    print(f"  {name}: {seen} at a time, {seconds:.1f} s for ten")
    assert seen == 1 and seconds >= 2.9 if one else seen > 5, seen
assert breaker.current_state == "closed" and breaker.fail_counter == 0
PYTHON
