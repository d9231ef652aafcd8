#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An event that a push was opened is reported with its time, as `datetime.now()` gives it, without a zone, by a process
# in Los Angeles, which is eight hours behind UTC. What is sent, of times that are so many seconds from now:
#
#                                                        now     4 s ago   6 s ago           a minute ahead
# - segment-analytics-python 2.4.0, `track`              right   right     8 h too early     right
# - posthog 7.91.1, `capture`                            right   right     8 h too early     8 h too early
#
# A time that is less than five seconds old is taken for one of here, as `datetime.now()` has made it, and any other for
# one in UTC. (For the first, whatever is in the future is less than five seconds old.)
#
# Guessed before it was run: each time without a zone is of the same zone, be it UTC or that of here, or is refused.
#
# A worker that has a backlog of some seconds has the events of one user in two orders, and pushes that were opened
# hours before they were sent. A test, which has no backlog, does not show it, and a server in UTC never does.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: segment-analytics-python==2.4.0 \
  posthog==7.91.1 time-machine==3.6.0
TZ=America/Los_Angeles "$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import posthog
import segment.analytics.client
import time_machine

UTC = datetime.timezone.utc
AWAY = (0, -4, -6, 60)
kept = []  # `append` returns None, for which posthog sends nothing


def with_segment(moment):
    client = segment.analytics.client.Client("key", send=False)
    return client.track("user", "opened", timestamp=moment)[1]["timestamp"]


def with_posthog(moment):
    client = posthog.Posthog("key", host="http://127.0.0.1:1", before_send=kept.append)
    client.capture("opened", distinct_id="user", timestamp=moment)
    client.shutdown()
    return kept.pop()["timestamp"]


def hours(report, seconds):
    """How far what is reported is from the time that is meant."""
    with time_machine.travel(1_796_000_000.0, tick=False):
        moment = datetime.datetime.now() + datetime.timedelta(seconds=seconds)
        told = report(moment)
    if isinstance(told, str):
        told = datetime.datetime.fromisoformat(told.replace("Z", "+00:00"))
    meant = datetime.datetime.fromtimestamp(1_796_000_000 + seconds, UTC)
    return (told.astimezone(UTC) - meant).total_seconds() / 3600


for name, report, expected in (
    ("segment-analytics-python", with_segment, (0, 0, -8, 0)),
    ("posthog", with_posthog, (0, 0, -8, -8)),
):
    seen = tuple(hours(report, seconds) for seconds in AWAY)
    print(f"{name} {importlib.metadata.version(name)}: of {AWAY} s away, {seen} hours from what is meant")
    assert seen == expected, seen
PYTHON
