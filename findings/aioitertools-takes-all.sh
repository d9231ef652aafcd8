#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two sources of 1,000 pushes each, asynchronous generators, are read as one, by a consumer that is slower than they
# are. When it has its fifth push, the sources have given
#
# - 2,000, all of them, to `as_generated` of aioitertools 0.13.0, which keeps what nobody has asked for;
# - five, or one more, to `stream.merge` of aiostream 0.8.1.
#
# If one of two sources, which do not wait for anything, ends with an error after three pushes, then with
#
# - aioitertools the consumer gets the error at once, and none of the three, nor any of the ten of the other;
# - aiostream the three, and then the error.
#
# Guessed before it was run: a source is asked for the next push when the consumer asks, as is usual with generators,
# and an error comes after what was given before it.
#
# Whoever merges partitions, or files, that way has all of them in memory, and at an error pushes that were taken from
# their source, and are nowhere.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aioitertools==0.13.0 \
  aiostream==0.8.1
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata

import aioitertools.asyncio
import aiostream


def with_aioitertools(*sources):
    return aioitertools.asyncio.as_generated(sources)


async def with_aiostream(*sources):
    async with aiostream.stream.merge(*sources).stream() as merged:
        async for push in merged:
            yield push


async def slow(merge):
    given = 0

    async def source():
        nonlocal given
        for number in range(1000):
            given += 1
            yield number
            await asyncio.sleep(0)

    taken = 0
    async for _ in merge(source(), source()):
        taken += 1
        if taken == 5:
            return given
        for _ in range(3000):  # What it does with a push, without a clock.
            await asyncio.sleep(0)


async def broken(merge):
    async def source(count):
        for number in range(count):
            yield number
        if count == 3:
            raise ConnectionError

    taken = []
    try:
        async for push in merge(source(3), source(10)):
            taken.append(push)
    except ConnectionError:
        taken.append("error")
    return taken


for merge in (with_aioitertools, with_aiostream):
    given, taken = asyncio.run(slow(merge)), asyncio.run(broken(merge))
    print(f"{merge.__name__} {importlib.metadata.version(merge.__name__[5:])}: {given} given; with an error {taken}")
    if merge is with_aioitertools:
        assert (given, taken) == (2000, ["error"])
    else:
        assert given in (5, 6) and taken[-1] == "error" and len(taken) >= 4
PYTHON
