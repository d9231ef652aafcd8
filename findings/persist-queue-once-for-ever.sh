#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# persist-queue 1.1.0, `UniqueAckQ`, a queue in a file in which each item is once, and is acknowledged when it is done.
# Reminders for a device are put into it by its token: the first is put, got, and acknowledged. The next day the same is
# put again. `put` returns None in place of an id, and raises no error; the queue has nothing. So it is after
# `ack_failed`, and after a restart. `clear_acked_data` makes room for it again, but keeps the last 1,000 that are done
# unless it is told otherwise.
#
# `UniqueQ` of the same library, which has no acknowledging, gives the same item each time that it is put after it was
# got.
#
# What is acknowledged stays in the table with another status, and the table's rule is one row for each item.
#
# Guessed before it was run: an item is not twice in the queue while it waits, or is being worked on.
#
# Whoever has such a queue sends each device one reminder, and no other, ever.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: persist-queue==1.1.0
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import importlib.metadata
import sys

import persistqueue

folder = sys.argv[1]


def day(queue, end=None):
    """One reminder: whether `put` says that it is there, and what the worker gets."""
    put = queue.put("0a1b") is not None
    try:
        item = queue.get(block=False)
    except persistqueue.Empty:
        return put, None
    if end:
        getattr(queue, end)(item)
    return put, item


given, nothing = (True, "0a1b"), (False, None)
print("persist-queue", importlib.metadata.version("persist-queue"))
for end in ("ack", "ack_failed"):
    queue = persistqueue.UniqueAckQ(f"{folder}/{end}", auto_commit=True)
    seen = [day(queue, end) for _ in range(3)]
    queue.close()
    queue = persistqueue.UniqueAckQ(f"{folder}/{end}", auto_commit=True)
    seen.append(day(queue, end))
    print(f"  UniqueAckQ, {end}: {seen}")
    assert seen == [given, nothing, nothing, nothing], seen
queue = persistqueue.UniqueAckQ(f"{folder}/ack", auto_commit=True)
queue.clear_acked_data()
assert day(queue, "ack") == nothing
queue.clear_acked_data(keep_latest=0)
assert day(queue, "ack") == given
queue = persistqueue.UniqueQ(f"{folder}/unique", auto_commit=True)
seen = [day(queue) for _ in range(3)]
print(f"  UniqueQ: {seen}")
assert seen == [given] * 3, seen
assert queue.put("0a1b") and queue.put("0a1b") is None and queue.qsize() == 1
PYTHON
