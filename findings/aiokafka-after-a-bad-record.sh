#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Four pushes in JSON are in a partition, and the second is none: {"n":0}, nope, {"n":2}, {"n":3}. The consumers read
# them with `json.loads` as `value_deserializer`, in a loop that logs an error and goes on:
#
# - DeserializingConsumer of confluent-kafka 2.16.1: 0, the error, 2, 3.
# - `getone` of aiokafka 0.14.0: 0, then the error, each time anew. It never gets past the second.
# - `getmany` of aiokafka 0.14.0: the error, each time anew. It does not give the first either.
# - `for` of kafka-python 2.0.2: the error, and nothing after it. None of the four was given, and the position is 4.
#
# Guessed before it was run: all give 0, have an error once, and give 2 and 3.
#
# Whoever has one record there that another program wrote sends no push of that partition from then on, with aiokafka,
# or none of all that came in one batch with it, with kafka-python.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: confluent-kafka==2.16.1 \
  aiokafka==0.14.0 kafka-python==2.0.2
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import asyncio
import json

import aiokafka
import confluent_kafka
import kafka

# The broker is the one inside librdkafka that it has for tests.
settings = {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "linger.ms": 2000, "log_level": 0}
mock = confluent_kafka.Producer(settings)
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
mock.list_topics("pushes", timeout=20)
for value in ('{"n":0}', "nope", '{"n":2}', '{"n":3}'):
    mock.produce("pushes", value, partition=0)
while len(mock) > 0:  # not `flush`, which does not wait until all four are in one batch
    mock.poll(1)


def with_confluent():
    settings = {"bootstrap.servers": address, "group.id": "g", "log_level": 0}
    settings["value.deserializer"] = lambda value, context: json.loads(value)
    consumer = confluent_kafka.DeserializingConsumer(settings)
    consumer.assign([confluent_kafka.TopicPartition("pushes", 0, 0)])
    seen = []
    for _ in range(4):
        try:
            message = consumer.poll(20)
            seen.append(message.value()["n"])
        except confluent_kafka.error.ValueDeserializationError:
            seen.append("error")
    position = consumer.position([confluent_kafka.TopicPartition("pushes", 0)])[0].offset
    consumer.close()
    return seen, position


async def with_aiokafka(many):
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=address, group_id=None, value_deserializer=json.loads)
    await consumer.start()
    partition = aiokafka.TopicPartition("pushes", 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    seen = []
    for _ in range(4):
        try:
            if many:
                batches = await consumer.getmany(timeout_ms=20000)
                seen.extend(record.value["n"] for records in batches.values() for record in records)
            else:
                seen.append((await asyncio.wait_for(consumer.getone(), 20)).value["n"])
        except json.JSONDecodeError:
            seen.append("error")
    position = await consumer.position(partition)
    await consumer.stop()
    return seen, position


def with_kafka_python():
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=address, api_version=(2, 0), consumer_timeout_ms=5000, value_deserializer=json.loads
    )
    partition = kafka.TopicPartition("pushes", 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    seen = []
    for _ in range(4):
        try:
            seen.append(next(consumer).value["n"])
        except json.JSONDecodeError:
            seen.append("error")
        except StopIteration:
            break
    position = consumer.position(partition)
    consumer.close()
    return seen, position


for name, seen, expected in (
    (f"confluent-kafka {confluent_kafka.__version__}", with_confluent(), ([0, "error", 2, 3], 4)),
    (f"aiokafka {aiokafka.__version__}, getone", asyncio.run(with_aiokafka(False)), ([0, *["error"] * 3], 1)),
    (f"aiokafka {aiokafka.__version__}, getmany", asyncio.run(with_aiokafka(True)), (["error"] * 4, 0)),
    (f"kafka-python {kafka.__version__}", with_kafka_python(), (["error"], 4)),
):
    print(f"{name}:", *seen[0], "and the position is", seen[1])
    assert seen == expected, seen
PYTHON
