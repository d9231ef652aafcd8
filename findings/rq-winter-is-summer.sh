#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is to be sent at noon, datetime(2027, 1, 15, 12, 0) without a zone, by a process in Berlin. `enqueue_at` of rq
# 1.16.2 and 2.12.0 schedules it for 10:00 in UTC, which is 11:00 in Berlin. In July it schedules 10:00 in UTC, which is
# noon. It is so in Los Angeles, too: an hour early all winter. In Kolkata, which has no summer time, it is right. rq
# 3.0.0, huey 3.5.4 (`schedule(eta=...)`) and arq 0.28.0 (as it reads `_defer_until`) are right in both months.
#
# It takes the offset of the summer, if the zone has a summer time, whether it is summer or not.
#
# What one would guess: it is the local time, as its docstring says, all year.
#
# Whoever tries it in summer, or has servers in UTC, finds nothing; from autumn on pushes come an hour early.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fakeredis==2.41.0 redis==5.3.1 \
  huey==3.5.4 arq==0.28.0

cat > "$folder/look.py" <<'PYTHON'
import datetime
import os
import sys

import arq.utils
import fakeredis
import huey
import rq

utc = datetime.timezone.utc
queue = rq.Queue("pushes", connection=fakeredis.FakeStrictRedis())
other = huey.MemoryHuey(utc=True)


@other.task()
def push():
    pass


def with_rq(time):
    return queue.scheduled_job_registry.get_scheduled_time(queue.enqueue_at(time, "builtins.print"))


def with_huey(time):
    return push.schedule(eta=time).task.eta


def with_arq(time):
    return datetime.datetime.fromtimestamp(arq.utils.to_unix_ms(time) / 1000, utc)


for month, by_rq, right in ((1, *sys.argv[1:3]), (7, *sys.argv[3:])):
    noon = datetime.datetime(2027, month, 15, 12, 0)
    seen = [schedule(noon).strftime("%H:%M") for schedule in (with_rq, with_huey, with_arq)]
    print(f"  {os.environ['TZ']}, {noon}: rq {seen[0]} UTC, huey {seen[1]} UTC, arq {seen[2]} UTC")
    assert seen == [by_rq, right, right], seen
PYTHON

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "rq==$1"
  echo "rq $1"
  TZ=Europe/Berlin "$folder/python/bin/python" "$folder/look.py" "$2" 11:00 10:00 10:00
  TZ=America/Los_Angeles "$folder/python/bin/python" "$folder/look.py" "$3" 20:00 19:00 19:00
  TZ=Asia/Kolkata "$folder/python/bin/python" "$folder/look.py" 06:30 06:30 06:30 06:30
}

look 1.16.2 10:00 19:00
look 2.12.0 10:00 19:00
look 3.0.0 11:00 20:00
