#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A function `async def provider_token()` makes the token for APNs, which is kept for half an hour by a decorator. 100
# pushes that begin at once each await it. How often the function runs:
#
# - aiocache 0.12.3, `@cached(ttl=1800)`: 100 times. With `@cached_stampede` it runs once.
# - asyncache 0.3.1, `@cached(TTLCache(10, 1800))`: 100 times. With `lock=asyncio.Lock()` it runs 100 times, too.
# - async-lru 2.4.0, `@alru_cache(ttl=1800)`, and cashews 7.6.0, `@cache(ttl="30m")`: once.
#
# The first two look whether there is a value, and make one if there is none; who is making one is not noted. The lock
# of asyncache is held while it looks and while it writes, and not between the two.
#
# Guessed before it was run: one runs and 99 wait for it, at the least with a lock.
#
# APNs answers 429 (TooManyProviderTokenUpdates) to who comes with new tokens more often than once in 20 minutes.
# Whoever keeps the token so comes with a hundred in one second, twice an hour.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aiocache==0.12.3 asyncache==0.3.1 \
  cachetools==5.5.2 async-lru==2.4.0 cashews==7.6.0
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata

import aiocache
import async_lru
import asyncache
import cachetools
import cashews

cashews.cache.setup("mem://")


def lookup(decorate):
    """Has 100 callers at once, and 100 more afterwards."""

    async def run():
        made = []

        @decorate()
        async def provider_token():
            made.append(len(made))
            await asyncio.sleep(0.05)
            return f"token {made[-1]}"

        await asyncio.gather(*(provider_token() for _ in range(100)))
        first = len(made)
        await asyncio.gather(*(provider_token() for _ in range(100)))
        return first, len(made) - first

    return asyncio.run(run())


ways = {
    "aiocache": (lambda: aiocache.cached(ttl=1800, key="a"), 100),
    "aiocache, cached_stampede": (lambda: aiocache.cached_stampede(lease=5, ttl=1800, key="b"), 1),
    "asyncache": (lambda: asyncache.cached(cachetools.TTLCache(10, 1800)), 100),
    "asyncache with a lock": (lambda: asyncache.cached(cachetools.TTLCache(10, 1800), lock=asyncio.Lock()), 100),
    "async-lru": (lambda: async_lru.alru_cache(ttl=1800), 1),
    "cashews": (lambda: cashews.cache(ttl="30m", key="token"), 1),
}
print(*(f"{name} {importlib.metadata.version(name)};" for name in ("aiocache", "asyncache", "async-lru", "cashews")))
for name, (decorate, times) in ways.items():
    seen = lookup(decorate)
    print(f"  {name}: made {seen[0]} times for the first 100, and {seen[1]} for the next")
    assert seen == (times, 0), seen
PYTHON
