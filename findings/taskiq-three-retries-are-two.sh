#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A task that sends a push fails each time, and is to be tried again three times. How often it runs:
#
# - taskiq 0.13.0, `max_retries=3`, with SimpleRetryMiddleware and with SmartRetryMiddleware: three times. With
#   `max_retries=1` it runs once.
# - dramatiq 2.2.1, `max_retries=3`, and huey 3.5.4, `retries=3`: four times. With 1 it runs twice.
#
# It counts the runs, and the first is one of them.
#
# Guessed before it was run: a retry is a run after the first, so that three retries are four runs.
#
# Whoever allows one retry, for the moment in which a gateway is started anew, has none, and the push is lost.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: taskiq==0.13.0 dramatiq==2.2.1 \
  huey==3.5.4
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import logging

import dramatiq
import dramatiq.brokers.stub
import huey
import taskiq

logging.disable(logging.CRITICAL)


async def run_taskiq(middleware, retries):
    broker, runs = taskiq.InMemoryBroker(await_inplace=True).with_middlewares(middleware), []

    @broker.task(retry_on_error=True, max_retries=retries)
    async def push():
        runs.append(1)
        raise ConnectionError

    await broker.startup()
    await push.kiq()
    await broker.wait_all()
    await broker.shutdown()
    return len(runs)


def with_simple(retries):
    return asyncio.run(run_taskiq(taskiq.SimpleRetryMiddleware(), retries))


def with_smart(retries):
    return asyncio.run(run_taskiq(taskiq.SmartRetryMiddleware(default_delay=0, use_jitter=False), retries))


def with_dramatiq(retries):
    broker, runs = dramatiq.brokers.stub.StubBroker(), []

    def push():
        runs.append(1)
        raise ConnectionError

    dramatiq.actor(push, broker=broker, max_retries=retries, min_backoff=1, max_backoff=1).send()
    worker = dramatiq.Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    broker.join("default", fail_fast=False)
    worker.join()
    worker.stop()
    return len(runs)


def with_huey(retries):
    queue, runs = huey.MemoryHuey(), []

    @queue.task(retries=retries)
    def push():
        runs.append(1)
        raise ConnectionError

    push()
    while task := queue.dequeue():
        queue.execute(task)
    return len(runs)


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("taskiq", "dramatiq", "huey")))
for way, more in ((with_simple, 0), (with_smart, 0), (with_dramatiq, 1), (with_huey, 1)):
    seen = {retries: way(retries) for retries in (1, 3)}
    print(f"  {way.__name__}: runs by retries {seen}")
    assert seen == {1: 1 + more, 3: 3 + more}, seen
PYTHON
