#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 100 pushes a minute are allowed, and one asks for a bulk of 150, which is refused. Then one asks for 50:
#
# - limits 5.8.0, FixedWindowRateLimiter, and throttled-py 3.5.0, `fixed_window` and `sliding_window`: refused, until
#   the minute is over. Nothing has been sent. So it is with 90, which are allowed, then 20, and then 10: with limits
#   and `fixed_window` the 10 are refused too.
# - MovingWindowRateLimiter and SlidingWindowCounterRateLimiter of limits, `token_bucket`, `leaking_bucket` and `gcra`
#   of throttled-py, pyrate-limiter 4.5.1 and token-bucket 0.4.0: allowed.
#
# The number is added before it is compared, and stays there.
#
# Guessed before it was run: what is refused takes nothing.
#
# Whoever asks for bulks as large as they come, and makes them smaller when one is refused, sends nothing for a minute,
# and the next one begins in the same way.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: limits==5.8.0 throttled-py==3.5.0 \
  pyrate-limiter==4.5.1 token-bucket==0.4.0
"$folder/python/bin/python" - <<'PYTHON'
import time

import limits
import limits.storage
import limits.strategies
import pyrate_limiter
import throttled
import token_bucket

minute = limits.parse("100/minute")


def with_limits(kind):
    limiter = getattr(limits.strategies, kind)(limits.storage.MemoryStorage())
    return lambda count: limiter.hit(minute, "pushes", cost=count)


def with_throttled(kind):
    quota = throttled.rate_limiter.per_min(100, burst=100)
    store = throttled.MemoryStore()
    limiter = throttled.Throttled(key="pushes", using=kind, quota=quota, store=store)
    return lambda count: not limiter.limit(cost=count).limited


def with_pyrate(_):
    limiter = pyrate_limiter.Limiter(pyrate_limiter.Rate(100, pyrate_limiter.Duration.MINUTE))
    return lambda count: bool(limiter.try_acquire("pushes", weight=count, blocking=False))


def with_token_bucket(_):
    limiter = token_bucket.Limiter(100 / 60, 100, token_bucket.MemoryStorage())
    return lambda count: limiter.consume("pushes", count)


print(f"{'':54} 150, 50          90, 20, 10")
for make, kind, bulk, rest in (
    (with_limits, "FixedWindowRateLimiter", False, False),
    (with_throttled, "fixed_window", False, False),
    (with_throttled, "sliding_window", False, True),
    (with_limits, "MovingWindowRateLimiter", True, True),
    (with_limits, "SlidingWindowCounterRateLimiter", True, True),
    (with_throttled, "token_bucket", True, True),
    (with_throttled, "leaking_bucket", True, True),
    (with_throttled, "gcra", True, True),
    (with_pyrate, "", True, True),
    (with_token_bucket, "", True, True),
):
    # Not across the end of a minute, where a window is new.
    if time.time() % 60 > 55:
        time.sleep(6)
    ask = make(kind)
    one = [ask(150), ask(50)]
    ask = make(kind)
    other = [ask(90), ask(20), ask(10)]
    print(f"{make.__name__ + ' ' + kind:54} {one}    {other}")
    assert one == [False, bulk] and other == [True, False, rest], (one, other)
PYTHON
