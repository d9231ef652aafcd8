#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Ten pushes a second are allowed, and 40 are waiting to go. How many go in the busiest second:
#
# - aiolimiter 1.3.0, `AsyncLimiter(10, 1)`: 19, the first second. So it is in the first second after each pause.
# - throttler 1.2.3 and asyncio-throttle 1.0.2, both with ten in a period of one, and aiometer 1.0.0 with
#   `max_per_second=10`: ten.
#
# It is a bucket that holds ten and loses ten in a second: ten fit at once, and one more each tenth of a second.
#
# Guessed before it was run: a `max_rate` of ten in a `time_period` of one second is ten in each second.
#
# Whoever has a contract of ten a second with a gateway, and pushes in bulks with pauses between them, has 429 in the
# first second of each, and a test with a few, or the mean of a minute, does not show it.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aiolimiter==1.3.0 throttler==1.2.3 \
  asyncio-throttle==1.0.2 aiometer==1.0.0
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import time

import aiolimiter
import aiometer
import asyncio_throttle
import throttler


def through(make):
    async def run(push):
        gate = make()

        async def one():
            async with gate:
                push()

        await asyncio.gather(*(one() for _ in range(40)))

    return run


async def with_aiometer(push):
    async def one():
        push()

    await aiometer.run_all([one] * 40, max_per_second=10)


async def busiest(run):
    """How many go in less than a second, at the most."""
    sent = []
    await run(lambda: sent.append(time.monotonic()))
    assert len(sent) == 40
    return max(sum(first <= moment < first + 0.97 for moment in sent) for first in sent)


for name, run, least, most in (
    ("aiolimiter", through(lambda: aiolimiter.AsyncLimiter(10, 1)), 15, 20),
    ("throttler", through(lambda: throttler.Throttler(rate_limit=10, period=1)), 1, 11),
    ("asyncio-throttle", through(lambda: asyncio_throttle.Throttler(rate_limit=10, period=1)), 1, 11),
    ("aiometer", with_aiometer, 1, 11),
):
    seen = asyncio.run(busiest(run))
    print(f"{name} {importlib.metadata.version(name)}: {seen} in the busiest second")
    assert least <= seen <= most, seen
PYTHON
