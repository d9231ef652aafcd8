#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# confluent-kafka 2.0.2 and 2.16.1: a message that `poll` returns is false, if its value is null or empty. A loop with
# `if not message: continue` passes over tombstones as if nothing had come, without an error. Records of kafka-python
# 2.0.2 and aiokafka 0.12.0 are true in each case.
#
# A message is as true as its length, which is that of its value.
#
# Guessed before it was run: `poll` returns None or a message, and a message is true. So the script that compared what
# three clients make of tombstones asked `if message`, and one client seemed to get none.
#
# Whoever keeps a table of a compacted topic with such a loop keeps what was deleted.
#
# Fails if a client answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: kafka-python==2.0.2 aiokafka==0.12.0

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "confluent-kafka==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata

import aiokafka
import confluent_kafka
import kafka

# The broker is the one inside librdkafka that it has for tests.
producer = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in producer.list_topics(timeout=20).brokers.values())
producer.list_topics("table", timeout=20)
values = [b"1", None, b"", b"2"]
for value in values:
    producer.produce("table", value, key=b"k", partition=0)
assert producer.flush(20) == 0


def with_poll():
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "g", "log_level": 0})
    consumer.assign([confluent_kafka.TopicPartition("table", 0, 0)])
    for _ in values:
        message = consumer.poll(20)
        assert message is not None and message.error() is None and message.key() == b"k"
        yield message.value(), bool(message)
    consumer.close()


def with_kafka_python():
    consumer = kafka.KafkaConsumer(bootstrap_servers=address, api_version=(2, 0), consumer_timeout_ms=20000)
    partition = kafka.TopicPartition("table", 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    for _ in values:
        record = next(consumer)
        yield record.value, bool(record)
    consumer.close()


def with_aiokafka():
    async def read():
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=address)
        await consumer.start()
        partition = aiokafka.TopicPartition("table", 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        records = [await asyncio.wait_for(consumer.getone(), 20) for _ in values]
        await consumer.stop()
        return [(record.value, bool(record)) for record in records]

    return asyncio.run(read())


print("confluent-kafka", importlib.metadata.version("confluent-kafka"))
for client in (with_poll, with_kafka_python, with_aiokafka):
    seen = list(client())
    print(f"  {client.__name__}: {seen}")
    assert seen == [(value, bool(value) or client is not with_poll) for value in values], seen
PYTHON
}

look 2.0.2
look 2.16.1
