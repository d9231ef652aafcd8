#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Three pushes are in a partition. `consume(500, timeout=5)` of confluent-kafka 2.0.2 and 2.16.1 returns them after five
# seconds: it waits until it has 500, or the time is over. `consume(3, timeout=5)` returns them at once. `getmany` of
# aiokafka 0.14.0, with the same two numbers (`max_records=500, timeout_ms=5000`), returns at once, with what it has.
#
# Guessed before it was run: the time is that to wait for a first message, as in `poll` of Kafka's own consumer, and the
# number is a bound.
#
# Whoever reads pushes in bulk with it sends each of them late by up to the timeout, unless there is much to do: the
# emptier the topic, the later. With the timeout that it has without an argument, none, they are not sent before the
# 500th has come.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: aiokafka==0.14.0

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "confluent-kafka==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import time

import aiokafka
from confluent_kafka import Consumer, Producer, TopicPartition

# The broker is the one inside librdkafka that it has for tests.
mock = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
mock.list_topics("pushes", timeout=20)
for push in range(3):
    mock.produce("pushes", str(push), partition=0)
assert mock.flush(20) == 0


def with_confluent(number):
    consumer = Consumer({"bootstrap.servers": address, "group.id": "g", "enable.auto.commit": False, "log_level": 0})
    consumer.assign([TopicPartition("pushes", 0, 0)])
    begin = time.monotonic()
    messages = consumer.consume(number, timeout=5)
    seconds = time.monotonic() - begin
    assert not any(message.error() for message in messages)
    consumer.close()
    return len(messages), seconds


async def with_aiokafka(number):
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=address, group_id=None)
    await consumer.start()
    consumer.assign([aiokafka.TopicPartition("pushes", 0)])
    await consumer.seek_to_beginning()
    begin = time.monotonic()
    records = await consumer.getmany(max_records=number, timeout_ms=5000)
    seconds = time.monotonic() - begin
    await consumer.stop()
    return sum(map(len, records.values())), seconds


print("confluent-kafka", importlib.metadata.version("confluent-kafka"))
for name, seen, waits in (
    ("consume(500, timeout=5)", with_confluent(500), True),
    ("consume(3, timeout=5)", with_confluent(3), False),
    ("aiokafka, getmany(max_records=500, timeout_ms=5000)", asyncio.run(with_aiokafka(500)), False),
):
    number, seconds = seen
    print(f"  {name}: {number} after {seconds:.1f} s")
    assert number == 3 or "aiokafka" in name and number in (1, 2), seen
    assert seconds > 4.9 if waits else seconds < 4, seen
PYTHON
}

look 2.0.2
look 2.16.1
