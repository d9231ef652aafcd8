#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two pushes a minute for each device: `limiter.try_acquire(device)` with pyrate-limiter, and a push for each of three
# devices. Version 2.10.0 takes all three, and refuses a device its third. Versions 3.9.0 and 4.5.1 refuse the third
# device its first: two a minute are what all devices have together. The call is the same; the argument, `identity` in
# 2.10.0, is `name` now.
#
# The name does not choose a bucket, of which the limiter has one, unless it is made with a factory of buckets.
#
# Guessed before it was run: each name has a limit of its own, as before.
#
# Whoever upgrades holds back, or drops, nearly all pushes; a test with one device finds nothing.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "pyrate-limiter==$1"
  "$folder/python/bin/python" - "$1" <<'PYTHON'
import inspect
import sys

import pyrate_limiter

make = pyrate_limiter.RequestRate if sys.argv[1] == "2.10.0" else pyrate_limiter.Rate


def taken(devices):
    limiter = pyrate_limiter.Limiter(make(2, pyrate_limiter.Duration.MINUTE))
    options = {"blocking": False} if "blocking" in inspect.signature(limiter.try_acquire).parameters else {}
    seen = []
    for device in devices:
        try:
            # 2.10.0 returns nothing, and raises an error; 4.5.1 returns whether it is taken.
            seen.append(limiter.try_acquire(device, **options) is not False)
        except pyrate_limiter.BucketFullException:
            seen.append(False)
    return seen


one, three = taken(["device-a"] * 3), taken(["device-a", "device-b", "device-c"])
print(f"pyrate-limiter {sys.argv[1]}: three pushes of a device: {one}; one of each of three devices: {three}")
assert one == [True, True, False], one
assert three == [True, True, sys.argv[1] == "2.10.0"], three
PYTHON
}

look 2.10.0
look 3.9.0
look 4.5.1
