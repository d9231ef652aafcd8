#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A record of Kafka is a CloudEvent that has no `ce_time`, which is optional. `from_binary` of the SDK of CloudEvents
# for Python, 1.12.0 and 2.2.0, has a time in the event, which is that of reading. Read twice it has two times, and
# written to another topic with `to_binary` it has a `ce_time` that nobody who made it gave it. So it is with
# `from_structured`, with `from_http`, and with `from_binary_event` of the new `cloudevents.core`.
#
# It makes an event as a sender would, for whom time and id are filled in.
#
# Guessed before it was run: what is read has the attributes that were in the record, and no others.
#
# Whoever drops pushes that are too old by `time` sends all of a topic that was read late, or is read again, as of now.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "cloudevents==$1"
  "$folder/python/bin/python" - "$1" <<'PYTHON'
import datetime
import importlib
import json
import sys

root = "cloudevents.v1" if sys.argv[1] == "2.2.0" else "cloudevents"
kafka, http = importlib.import_module(f"{root}.kafka"), importlib.import_module(f"{root}.http")
attributes = {"specversion": "1.0", "id": "7", "source": "/orders", "type": "push"}
headers = {f"ce_{name}": value.encode() for name, value in attributes.items()}
binary = {"headers": {**headers, "content-type": b"application/json"}, "key": "k", "value": b'{"badge": 1}'}
whole = {**attributes, "datacontenttype": "application/json", "data": {"badge": 1}}
content = {"content-type": b"application/cloudevents+json"}
structured = {"headers": content, "key": "k", "value": json.dumps(whole).encode()}

begin = datetime.datetime.now(datetime.timezone.utc)
print("cloudevents", sys.argv[1])
for name, read in (
    ("from_binary", lambda: kafka.from_binary(kafka.KafkaMessage(**binary))),
    ("from_structured", lambda: kafka.from_structured(kafka.KafkaMessage(**structured))),
    ("from_http", lambda: http.from_http({f"ce-{name}": value for name, value in attributes.items()}, b"{}")),
):
    events = read(), read()
    times = [event.get("time") for event in events]
    print(f"  {name}: {times}")
    assert all(event["id"] == "7" for event in events) and None not in times and times[0] != times[1]
    assert all(abs(datetime.datetime.fromisoformat(time) - begin) < datetime.timedelta(minutes=1) for time in times)
    if name == "from_binary":
        written = kafka.to_binary(events[0]).headers
        print(f"  written again: ce_time {written['ce_time']}")
        assert written["ce_time"] == times[0].encode()

if root != "cloudevents":
    from cloudevents.core.bindings import kafka as core

    times = [core.from_binary_event(core.KafkaMessage(**binary)).get_time() for _ in range(2)]
    print(f"  cloudevents.core: {times[0].isoformat()}, {times[1].isoformat()}")
    assert times[0] != times[1] and all(abs(time - begin) < datetime.timedelta(minutes=1) for time in times)
PYTHON
}

look 1.12.0
look 2.2.0
