#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# confluent-kafka 2.0.2 and 2.16.1: a TopicPartition of offset 5 equals one of offset 9, and one with no offset. What
# the group has committed before and after two more records is the same by `==`, the set of both has one, `index`
# finds the wrong one, and a test with a mock that asserts the commit of offset 999 passes when 5 was committed.
#
# Its comparison and its hash are those of topic and partition.
#
# What one would guess: it has an offset and is what `commit`, `committed` and `position` take and give, so two
# of them are equal if the offset is too; a comparison without it would need `.topic` and `.partition`.
#
# Whoever watches for progress by comparing, or tests commits so, sees none ever, or that all is right.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "confluent-kafka==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import unittest.mock

from confluent_kafka import Consumer, Producer, TopicPartition

# The broker is the one inside librdkafka that it has for tests.
mock = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
mock.list_topics("pushes", timeout=20)
for push in range(4):
    mock.produce("pushes", str(push), partition=0)
assert mock.flush(20) == 0
settings = {"bootstrap.servers": address, "group.id": "g", "enable.auto.commit": False, "log_level": 0}
consumer = Consumer(settings)
where = [TopicPartition("pushes", 0)]
consumer.assign([TopicPartition("pushes", 0, 0)])


def committed_after(records):
    for _ in range(records):
        message = consumer.poll(20)
        assert message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    return consumer.committed(where, timeout=20)


before, after = committed_after(2), committed_after(2)
consumer.close()
both = before + after
tested = unittest.mock.Mock()
tested.commit(offsets=[TopicPartition("pushes", 0, 5)])
try:
    tested.commit.assert_called_once_with(offsets=[TopicPartition("pushes", 0, 999)])
    test = "passes"
except AssertionError:
    test = "fails"
seen = {
    "offsets": [partition.offset for partition in both],
    "before == after": before == after,
    "no offset is equal": before == where,
    "in the set of both": len(set(both)),
    "index of the second": both.index(after[0]),
    "the test of 999": test,
}
print("confluent-kafka", importlib.metadata.version("confluent-kafka"))
print(" ", *(f"{name}: {said};" for name, said in seen.items()))
assert list(seen.values()) == [[2, 4], True, True, 1, 0, "passes"], seen
PYTHON
}

look 2.0.2
look 2.16.1
