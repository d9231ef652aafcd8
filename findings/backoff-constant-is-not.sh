#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# backoff 2.2.1: `@on_exception(backoff.constant, PushError, interval=30)` does not wait 30 seconds before each retry,
# but anything from 0 to 30. So it is with `backoff.runtime`, whose function reads the seconds of `Retry-After: 30` out
# of the answer, and with `backoff.expo`: the delays of 1, 2, 4 and 8 s are the most that it waits. Of a thousand
# retries with the constant half come within 15 s, and one in ten within three. With `jitter=None` all wait as they say.
#
# Each generator of delays goes through `full_jitter`, unless it is told otherwise.
#
# tenacity 9.2.1, `wait_fixed(30)` and `wait_exponential()`, waits 30 s, and 1, 2, 4, 8 s.
#
# What one would guess of `constant` and `runtime`: 30 seconds each; or 30 and something, as jitter is added.
#
# Whoever gives a gateway the half minute that it asks for is back before it is over, each time, and is refused for
# more.
#
# Fails if a version waits otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: backoff==2.2.1 tenacity==9.2.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import time
import unittest.mock

import backoff
import tenacity


class PushError(Exception):
    retry_after = 30


def delays(decorate):
    """The seconds that a push that always fails is told to sleep."""
    seen = []

    def push():
        raise PushError

    with unittest.mock.patch("time.sleep", seen.append):
        try:
            decorate(push)()
        except PushError:
            pass
    return seen


def with_backoff(generator, tries, **options):
    return delays(backoff.on_exception(generator, PushError, max_tries=tries, **options))


def with_tenacity(wait, tries):
    stop = tenacity.stop_after_attempt(tries)
    return delays(tenacity.retry(wait=wait, stop=stop, sleep=lambda seconds: time.sleep(seconds), reraise=True))


def of_answer(error):
    return error.retry_after


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("backoff", "tenacity")))
for name, seen in (
    ("constant, interval=30", with_backoff(backoff.constant, 1001, interval=30)),
    ("runtime, 30 s", with_backoff(backoff.runtime, 1001, value=of_answer)),
):
    below = [sum(delay < seconds for delay in seen) / len(seen) for seconds in (3, 15, 30)]
    print(f"  {name}: {len(seen)} delays from {min(seen):.2f} to {max(seen):.2f} s; below 3, 15 and 30 s:", *below)
    assert len(seen) == 1000 and 0 <= min(seen) < 1 and 29 < max(seen) <= 30, (min(seen), max(seen))
    assert 0.05 < below[0] < 0.16 and 0.4 < below[1] < 0.6 and below[2] > 0.99, below

many = [with_backoff(backoff.expo, 5) for _ in range(200)]
print("  expo:", *(f"{min(seen):.2f} to {max(seen):.2f} s;" for seen in zip(*many)))
for most, seen in zip((1, 2, 4, 8), zip(*many), strict=True):
    assert max(seen) <= most and max(seen) > 0.9 * most and min(seen) < 0.1 * most, (min(seen), max(seen))

plain = [
    with_backoff(backoff.constant, 5, interval=30, jitter=None),
    with_backoff(backoff.runtime, 5, value=of_answer, jitter=None),
    with_tenacity(tenacity.wait_fixed(30), 5),
]
print("  jitter=None, and tenacity:", *plain)
assert plain == [[30] * 4] * 3, plain
doubled = with_backoff(backoff.expo, 5, jitter=None), with_tenacity(tenacity.wait_exponential(), 5)
assert doubled == ([1, 2, 4, 8],) * 2, doubled
PYTHON
