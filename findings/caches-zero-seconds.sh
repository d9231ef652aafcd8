#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push may be kept for so many seconds, which are the time to live in a cache, too: `apns-expiration` less now, and 0
# for a push that nobody is to keep. What a cache that is given zero seconds has a second later:
#
# - cachetools 8.0.2 (TTLCache) and diskcache 5.6.3: nothing.
# - aiocache 0.12.3, with `set(..., ttl=0)` and with `expire(key, 0)`: the value, and so for ever.
# - cachelib 0.17.0, SimpleCache and FileSystemCache, and Flask-Caching 2.5.1, which has both: the same.
#
# For the latter zero is "no limit", as it is for memcached. With one second, all have nothing two seconds later.
#
# What one would guess: the shorter the time, the sooner it is gone, and "for ever" is None.
#
# Whoever subtracts two times keeps the one push for ever whose time is over this second.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: cachetools==8.0.2 diskcache==5.6.3 \
  aiocache==0.12.3 cachelib==0.17.0 flask-caching==2.5.1
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import asyncio
import sys
import time

import aiocache
import cachelib
import cachetools
import diskcache
import flask
import flask_caching

folder = sys.argv[1]


def with_cachetools(seconds):
    cache = cachetools.TTLCache(10, seconds)
    cache["push"] = "kept"
    yield
    yield cache.get("push")


def with_diskcache(seconds):
    cache = diskcache.Cache(f"{folder}/diskcache-{seconds}")
    cache.set("push", "kept", expire=seconds)
    yield
    yield cache.get("push")


def with_aiocache(seconds, by_expire=False):
    loop = asyncio.new_event_loop()
    cache = aiocache.SimpleMemoryCache(namespace=f"{seconds}-{by_expire}")

    async def write():
        await cache.set("push", "kept", ttl=30 if by_expire else seconds)
        if by_expire:
            await cache.expire("push", seconds)

    loop.run_until_complete(write())
    yield loop.run_until_complete(asyncio.sleep(2.5))  # its clock is the loop's
    yield loop.run_until_complete(cache.get("push"))


def with_cachelib(kind, seconds):
    cache = cachelib.SimpleCache() if kind == "memory" else cachelib.FileSystemCache(f"{folder}/cachelib-{seconds}")
    cache.set("push", "kept", timeout=seconds)
    yield
    yield cache.get("push")


def with_flask_caching(kind, seconds):
    app = flask.Flask("pushes")
    cache = flask_caching.Cache(app, config={"CACHE_TYPE": kind, "CACHE_DIR": f"{folder}/{kind}-{seconds}"})
    with app.app_context():
        cache.set("push", "kept", timeout=seconds)
    yield
    with app.app_context():
        value = cache.get("push")
    yield value


caches = {
    "cachetools": (with_cachetools, None),
    "diskcache": (with_diskcache, None),
    "aiocache, set": (with_aiocache, "kept"),
    "aiocache, expire": (lambda seconds: with_aiocache(seconds, by_expire=True), "kept"),
    "cachelib, SimpleCache": (lambda seconds: with_cachelib("memory", seconds), "kept"),
    "cachelib, FileSystemCache": (lambda seconds: with_cachelib("files", seconds), "kept"),
    "Flask-Caching, SimpleCache": (lambda seconds: with_flask_caching("SimpleCache", seconds), "kept"),
    "Flask-Caching, FileSystemCache": (lambda seconds: with_flask_caching("FileSystemCache", seconds), "kept"),
}
for seconds in (0, 1):
    runs = {name: way(seconds) for name, (way, _) in caches.items()}
    for run in runs.values():
        next(run)
    time.sleep(2.5)
    for name, run in runs.items():
        seen = next(run)
        print(f"{name}, {seconds} s: {seen}")
        assert seen == (caches[name][1] if seconds == 0 else None), seen
PYTHON
