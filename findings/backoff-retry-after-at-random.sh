#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A gateway answers 429 with `Retry-After: 100`. backoff 2.2.1 has `runtime` for such a wait: `on_predicate(runtime,
# predicate=…, value=lambda answer: int(answer.headers["retry-after"]))` asks again after a time between 0 s and 100 s,
# drawn at random: of 1,000 times half are before 50 s, and all are before 100 s. With `jitter=None` it is 100 s each
# time. tenacity 9.2.1 (a `wait` that returns the number) and stamina 26.1.0 (an `on` that does) wait the whole time.
#
# The jitter that is there without an argument draws a number up to the wait, for this kind as for growing waits.
#
# What one would guess: a jitter comes on top of what the server has asked for, or there is none.
#
# Whoever sends pushes through it to a gateway that says until when it is overloaded comes too early, each time, and is
# refused again, until the tries are used up.
#
# Fails if a version waits otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: backoff==2.2.1 tenacity==9.2.1 \
  stamina==26.1.0
"$folder/python/bin/python" - <<'PYTHON'
import logging
import statistics
import time
import types

import backoff
import stamina
import tenacity

logging.disable(logging.CRITICAL)
waits = []
time.sleep = waits.append  # no library waits here; each says how long it would
refused = types.SimpleNamespace(status=429, headers={"retry-after": "100"})
taken = types.SimpleNamespace(status=200, headers={})


class Refused(Exception):
    pass


def answers():
    return iter([refused, taken])


def seconds(answer):
    return int(answer.headers["retry-after"])


def with_backoff(gateway, **arguments):
    @backoff.on_predicate(backoff.runtime, predicate=lambda answer: answer.status == 429, value=seconds, **arguments)
    def push():
        return next(gateway)

    return push()


def with_tenacity(gateway):
    @tenacity.retry(
        retry=tenacity.retry_if_result(lambda answer: answer.status == 429),
        wait=lambda state: seconds(state.outcome.result()),
        sleep=waits.append,
    )
    def push():
        return next(gateway)

    return push()


def with_stamina(gateway):
    @stamina.retry(on=lambda error: float(seconds(error.args[0])), timeout=None)
    def push():
        answer = next(gateway)
        if answer.status == 429:
            raise Refused(answer)
        return answer

    return push()


def look(name, send):
    waits.clear()
    for _ in range(1000):
        assert send(answers()).status == 200
    assert len(waits) == 1000, len(waits)
    print(f"{name}: from {min(waits):.1f} s to {max(waits):.1f} s, half below {statistics.median(waits):.1f} s")
    return min(waits), statistics.median(waits), max(waits)


least, middle, most = look("backoff", with_backoff)
assert least < 20 and 30 < middle < 70 and most < 100.1
assert look("backoff, jitter=None", lambda gateway: with_backoff(gateway, jitter=None)) == (100, 100, 100)
assert look("tenacity", with_tenacity) == (100, 100, 100)
assert look("stamina", with_stamina) == (100, 100, 100)
PYTHON
