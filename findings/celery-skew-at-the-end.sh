#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A thousand pushes are spread over a minute with celery 5.7.0, `group(…).skew(start=0, stop=60)`, which gives each task
# of a group its delay. The first 60 have 0 to 59 seconds. The other 940 have 60, all of them. With `skew(1, 10)` 991
# have 10. Without `stop` they are spread over 1,000 seconds, one for each; with `step=0.06` over a minute.
#
# `step` is a second, whatever there is between `start` and `stop`, and the last number is repeated.
#
# Guessed before it was run: they are spread evenly between `start` and `stop`, or begin anew at `start`.
#
# Whoever spreads a campaign so, that a service is not overrun by those who open it, has nineteen in twenty of them come
# at the same second, a minute later.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: celery==5.7.0
"$folder/python/bin/python" - <<'PYTHON'
import collections

import celery

app = celery.Celery(broker="memory://")


@app.task
def push(number):
    pass


def delays(**options):
    """What is in the messages, which a worker goes by."""
    tasks = celery.group(push.s(number) for number in range(1000)).skew(**options).tasks
    return collections.Counter(task.options["countdown"] for task in tasks)


minute, ten = delays(start=0, stop=60), delays(start=1, stop=10)
open_end, steps = delays(), delays(start=0, stop=60, step=0.06)
print(f"celery {celery.__version__}: {minute.most_common(2)} of {len(minute)} delays; {ten.most_common(2)}")
assert minute == {**dict.fromkeys(range(60), 1), 60: 940}, minute
assert ten == {**dict.fromkeys(range(1, 10), 1), 10: 991}, ten
assert open_end == dict.fromkeys(range(1, 1001), 1), open_end
assert len(steps) == 1000 and 59.9 < max(steps) < 60, steps
PYTHON
