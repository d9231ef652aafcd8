#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A circuit breaker is open after three failures, and after some time it may try whether the gateway is well again. A
# hundred pushes are waiting for that moment, and the gateway is not well. How many of them it gets:
#
# - circuitbreaker 2.1.3 and purgatory-circuitbreaker 0.7.2: all hundred.
# - aiobreaker 1.2.0: all hundred too. Each caller has CircuitBreakerError, the error of a push that was not sent.
# - pybreaker 1.4.1, with threads: one. All callers have CircuitBreakerError.
#
# The next who comes after the time is a trial for the first three, as long as no trial has come to its end.
#
# Guessed before it was run: one trial, and who comes meanwhile is refused, as half-open is explained.
#
# Whoever has a thousand pushes in flight sends a thousand to a gateway that is coming back, each time that it is tried.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary pybreaker==1.4.1 circuitbreaker==2.1.3 \
  aiobreaker==1.2.0 purgatory-circuitbreaker==0.7.2 typing-extensions==4.16.0
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import collections
import concurrent.futures
import datetime
import importlib.metadata
import time

import aiobreaker
import circuitbreaker
import purgatory
import pybreaker


class Unavailable(Exception):
    pass


async def with_asyncio(guard):
    """What the gateway gets of five pushes at first, of one more at once, and of a hundred after the time."""
    sent = 0

    async def push():
        nonlocal sent
        sent += 1
        await asyncio.sleep(0.2)
        raise Unavailable

    guarded = guard(push)

    async def error():
        try:
            await guarded()
        except Exception as error:
            return type(error).__name__

    for _ in range(5):
        await error()
    first = sent
    await asyncio.sleep(1.1)
    errors = collections.Counter(await asyncio.gather(*(error() for _ in range(100))))
    return first, sent - first, dict(errors)


def with_threads(guard):
    sent = 0

    def push():
        nonlocal sent
        sent += 1
        time.sleep(0.2)
        raise Unavailable

    guarded = guard(push)

    def error(_=None):
        try:
            guarded()
        except Exception as error:
            return type(error).__name__

    for _ in range(5):
        error()
    first = sent
    time.sleep(3.1)
    with concurrent.futures.ThreadPoolExecutor(100) as threads:
        errors = collections.Counter(threads.map(error, range(100)))
    return first, sent - first, dict(errors)


names = ("circuitbreaker", "purgatory-circuitbreaker", "aiobreaker", "pybreaker")
print(*(f"{name} {importlib.metadata.version(name)};" for name in names))
second = datetime.timedelta(seconds=1)
for name, seen, expected in (
    (
        "circuitbreaker",
        asyncio.run(with_asyncio(circuitbreaker.CircuitBreaker(failure_threshold=3, recovery_timeout=1))),
        (3, 100, {"Unavailable": 100}),
    ),
    (
        "purgatory",
        asyncio.run(with_asyncio(purgatory.AsyncCircuitBreakerFactory(default_threshold=3, default_ttl=1)("pushes"))),
        (3, 100, {"Unavailable": 100}),
    ),
    (
        "aiobreaker",
        asyncio.run(with_asyncio(aiobreaker.CircuitBreaker(fail_max=3, timeout_duration=second))),
        (3, 100, {"CircuitBreakerError": 100}),
    ),
    (
        "pybreaker, in threads",
        with_threads(pybreaker.CircuitBreaker(fail_max=3, reset_timeout=3)),
        (3, 1, {"CircuitBreakerError": 100}),
    ),
):
    print(f"  {name}: {seen[0]} pushes until it is open, {seen[1]} of a hundred as trials; errors {seen[2]}")
    assert seen == expected, seen
PYTHON
