#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Kombu 5.7.0, which is beneath Celery, with Kafka (`confluentkafka://`, confluent-kafka 2.13.0). A worker with
# `prefetch_count=3` has pushes 0, 1 and 2 of a partition, which has four:
#
# - It acknowledges 2, and no other: the group's offset is 3. Were the worker to end now, 0 and 1 would be lost.
# - It acknowledges 1, then calls `requeue()` of 0: push 3 comes next, and 0 does not come again.
# - It calls `requeue()` of 0, and none is acknowledged: 0, 1 and 2 come again, all of them.
#
# To acknowledge is to commit the position of the consumer, whichever message it is for; to requeue is to go back to
# what was committed last.
#
# What one would guess: an offset is committed only when all before it are acknowledged, and what is requeued, or
# has not been acknowledged when a worker ends, comes again; perhaps with some more.
#
# Whoever sends pushes in tasks with `acks_late` loses those that were under way at the end of a worker.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: confluent-kafka==2.13.0 kombu==5.7.0
"$folder/python/bin/python" - <<'PYTHON'
import time

import confluent_kafka
import kombu

# The broker is the one inside librdkafka that it has for tests.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
options = {
    "wait_time_seconds": 3,
    "kafka_common_config": {"log_level": 0},
    "kafka_producer_config": {"partitioner": "consistent"},  # one partition for all that have no key
}


def committed(topic):
    group = f"{topic}-consumer-group"
    reader = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": group, "log_level": 0})
    offset = reader.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=20)[0].offset
    reader.close()
    return None if offset < 0 else offset


def settle(topic, act):
    mock.list_topics(topic, timeout=20)
    with kombu.Connection(f"confluentkafka://{address}", transport_options=options) as connection:
        with connection.SimpleQueue(topic) as queue:
            for push in range(4):
                queue.put({"push": push})
    with kombu.Connection(f"confluentkafka://{address}", transport_options=options) as connection:
        got = []
        channel = connection.channel()
        consumer = kombu.Consumer(
            channel,
            [kombu.Queue(topic)],
            callbacks=[lambda body, message: got.append((body["push"], message))],
            prefetch_count=3,
        )
        consumer.consume()
        deadline = time.monotonic() + 60
        while len(got) < 3 and time.monotonic() < deadline:
            connection.drain_events(timeout=60)
        assert [push for push, _ in got] == [0, 1, 2], got
        for step in act([message for _, message in got]):
            step()
            time.sleep(1)
        offset = committed(topic)
        for _, message in got:  # now there is room for more
            if not message.acknowledged:
                message.ack()
        try:
            while len(got) < 6:
                connection.drain_events(timeout=6)
        except TimeoutError:
            pass
        consumer.close()
        channel.close()
    return offset, [push for push, _ in got[3:]]


print("kombu", kombu.__version__)
for name, act, expected in (
    ("acknowledges-2", lambda had: [had[2].ack], (3, [3])),
    ("acknowledges-1-requeues-0", lambda had: [had[1].ack, had[0].requeue], (3, [3])),
    ("requeues-0", lambda had: [had[0].requeue], (None, [0, 1, 2])),
):
    seen = settle(name, act)
    print(f"  {name}: offset of the group {seen[0]}; then come {seen[1]}")
    assert seen == expected, seen
PYTHON
