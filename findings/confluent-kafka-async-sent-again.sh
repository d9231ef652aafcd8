#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# AIOProducer of confluent-kafka 2.13.0 and 2.16.1 takes a message with `timestamp=`, of which its documentation
# speaks, and `flush` then says that time stamps are not supported in batch mode. With that the messages for another
# topic, which were in the same buffer, are in Kafka. They are there once more after each further `flush`: four
# attempts, four copies of each. Their futures come to a result, with no error. The task that empties the buffer by
# time ends with the first such error, without a word to the caller: a later message stays in the buffer until
# somebody flushes.
#
# If a batch fails, all batches of the buffer are put back, also those that librdkafka has already; the one that fails
# too.
#
# What one would guess: `produce` refuses the time stamp, or `flush` fails that message alone; the others go out
# once.
#
# Whoever flushes in a loop until it succeeds, or at the end of each request, sends the same pushes again and again.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "confluent-kafka==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import logging

import confluent_kafka
import confluent_kafka.aio

logging.disable(logging.CRITICAL)
# The broker is the one inside librdkafka that it has for tests.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
for topic in ("pushes", "reports"):
    mock.list_topics(topic, timeout=20)
print("confluent-kafka", importlib.metadata.version("confluent-kafka"))


def stored(topic):
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "g", "enable.partition.eof": True, "log_level": 0}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values = []
    while not (message := consumer.poll(20)).error():
        values.append(message.value().decode())
    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
    consumer.close()
    return values


async def run():
    producer = confluent_kafka.aio.AIOProducer({"bootstrap.servers": address, "log_level": 0}, buffer_timeout=0)
    futures = [await producer.produce("pushes", value, partition=0) for value in ("first", "second")]
    late = await producer.produce("reports", "late", partition=0, timestamp=1795000000000)
    for attempt in range(1, 5):
        try:
            await producer.flush(20)
            said = "nothing"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        await asyncio.to_thread(producer._producer.flush, 20)  # what librdkafka has
        await asyncio.sleep(0.1)
        values = stored("pushes")
        print(f"  flush {attempt} says {said}; pushes has {values}, reports has {stored('reports')}")
        assert said == "NotImplementedError: Message timestamps are not currently supported in batch mode", said
        assert values == ["first", "second"] * attempt and stored("reports") == [], values
    assert isinstance(late.exception(), NotImplementedError)
    assert [(await future).error() for future in futures] == [None, None]

    timed = confluent_kafka.aio.AIOProducer({"bootstrap.servers": address, "log_level": 0}, buffer_timeout=0.5)
    futures = [await timed.produce("pushes", "before", partition=0)]
    await asyncio.wait_for(futures[0], 20)
    await timed.produce("reports", "late", partition=0, timestamp=1795000000000)
    await asyncio.sleep(3)
    future = await timed.produce("pushes", "after", partition=0)
    await asyncio.sleep(5)
    values = stored("pushes")[8:]
    print(f"  With a buffer_timeout of 0.5 s, 5 s later: pushes has {values}, sent: {future.done()}")
    assert values == ["before"] and not future.done(), values
    timed._batch_processor.clear_buffer()  # or it cannot be closed
    producer._batch_processor.clear_buffer()
    for each in (timed, producer):
        await each.close()


asyncio.run(run())
PYTHON
}

look 2.13.0
look 2.16.1
