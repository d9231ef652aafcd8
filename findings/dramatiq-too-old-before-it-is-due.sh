#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is to go out four seconds from now, and is worth nothing if it is more than three seconds late. Both are said
# to the queue:
#
# - dramatiq 2.2.1, `max_age=3000` with `delay=4000`: it is never sent. When it is due it has "exceeded its age limit",
#   as a line of the log says, and is a dead letter. With a delay of 500 it is sent.
# - celery 5.7.0, `expires=3` with `countdown=4`: the message has a time at which it expires a second before its time to
#   run. Nothing refuses it.
# - huey 3.5.4, `expires=3` with `delay=4`: it is sent.
#
# The first two count from the call, and huey from when the task is due.
#
# Guessed before it was run: all count from when it is due, as one cannot be late before.
#
# Whoever delays pushes until the morning, and has a limit of an hour on its tasks, sends none that wait longer.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: dramatiq==2.2.1 huey==3.5.4 \
  celery==5.7.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata
import logging
import time

import celery
import dramatiq
import dramatiq.brokers.stub
import huey

logged = []


class Keep(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())


logging.getLogger("dramatiq").addHandler(Keep())


def with_dramatiq():
    broker, sent = dramatiq.brokers.stub.StubBroker(), []
    push = dramatiq.actor(lambda name: sent.append(name), actor_name="push", broker=broker, max_age=3000)
    push.send_with_options(args=("in 4 s",), delay=4000)
    push.send_with_options(args=("in 0.5 s",), delay=500)
    push.send("now")
    worker = dramatiq.Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    broker.join("default", fail_fast=False)
    worker.join()
    worker.stop()
    assert [message.args for message in broker.dead_letters] == [("in 4 s",)], broker.dead_letters
    assert any("exceeded its age limit" in line for line in logged), logged
    return sent


def with_huey():
    queue, sent = huey.MemoryHuey(), []
    push = queue.task()(lambda name: sent.append(name))
    push.schedule(("in 4 s",), delay=4, expires=3)
    end = time.monotonic() + 60
    while not sent and time.monotonic() < end:
        for task in queue.read_schedule(datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)):
            queue.enqueue(task)
        if task := queue.dequeue():
            queue.execute(task)
        time.sleep(0.1)
    return sent


def with_celery():
    """What is in the message's headers, which a worker goes by."""
    app = celery.Celery(broker="memory://")
    headers = app.amqp.as_task_v2("id", "push", countdown=4, expires=3).headers
    due, end = (datetime.datetime.fromisoformat(headers[name]) for name in ("eta", "expires"))
    return round((due - end).total_seconds())


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("dramatiq", "huey", "celery")))
seen = with_dramatiq(), with_huey(), with_celery()
print(f"  sent with dramatiq {seen[0]}, with huey {seen[1]}; with celery expired {seen[2]} s before it is due")
assert seen == (["now", "in 0.5 s"], ["in 4 s"], 1), seen
PYTHON
