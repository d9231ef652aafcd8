#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# aiolimiter 1.2.1 and 1.3.0 with 10 in a second, which are used up. One asks for a bulk of 10 (`acquire(10)`), and
# after it 30 ask for one each. All of the 30 are let through, one by one, and then the bulk: after 4 s, where its turn
# would have been after one. If there are two who each ask for one again as soon as they have had one, for a minute, it
# has no turn in that minute.
#
# Whoever fits is let through, whoever was there before; a bulk of 10 fits when nothing else is left.
#
# Guessed before it was run: first come, first served, as with a lock and a semaphore of asyncio.
#
# Whoever has bulks and single pushes under one limit, and is busy, sends no bulk, and has no error of it.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

cat > "$folder/look.py" <<'PYTHON'
import asyncio
import importlib.metadata
import selectors

import aiolimiter


class Clock(selectors.DefaultSelector):
    """Passes the time that a loop would wait, and a microsecond for what it does."""

    now = 0.0

    def select(self, timeout=None):
        self.now += (timeout or 0) + 1e-6
        return super().select(0)


def run(program):
    clock = Clock()
    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now
    try:
        return loop.run_until_complete(program(loop))
    finally:
        loop.close()


async def crowd(loop):
    limiter = aiolimiter.AsyncLimiter(10, 1)
    await limiter.acquire(10)
    passed = []

    async def ask(name, count):
        await limiter.acquire(count)
        passed.append((name, round(loop.time(), 1)))

    await asyncio.gather(ask("bulk", 10), *(ask(number, 1) for number in range(30)))
    return passed


async def stream(loop):
    limiter = aiolimiter.AsyncLimiter(10, 1)
    await limiter.acquire(10)
    bulk = asyncio.create_task(limiter.acquire(10))
    await asyncio.sleep(0)
    passed = 0

    async def push():
        nonlocal passed
        while loop.time() < 60:
            await limiter.acquire()
            passed += 1

    await asyncio.gather(push(), push())
    waits = not bulk.done()
    await bulk
    return passed, waits, round(loop.time(), 1)


passed = run(crowd)
print(f"aiolimiter {importlib.metadata.version('aiolimiter')}:", *(f"{name} at {time};" for name, time in passed))
assert passed == [*((number, (number + 1) / 10) for number in range(30)), ("bulk", 4.0)]
passed, waits, end = run(stream)
print(f"  after {passed} in a minute the bulk waits: {waits}; it is let through at {end}")
assert waits and 590 < passed < 610 and end > 60, (passed, waits)
PYTHON

for version in 1.2.1 1.3.0; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "aiolimiter==$version"
  "$folder/python/bin/python" "$folder/look.py"
done
