#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `produce(topic, value, key, partition, …)` of the AIOProducer of confluent-kafka 2.13.0 and 2.16.1 takes what the
# Producer of the same release takes, and leaves some of it away without an error:
#
# - A partition, a time stamp and headers that are given by position, as Producer allows: the record goes to the
#   partition of its key, with the time of now and without headers. (`headers=` raises NotImplementedError.)
# - `on_delivery=` and `callback=`: it is never called.
# - A name that does not exist, as `header=`: the record has no headers.
#
# `produce` of AIOProducer has `*args` and `**kwargs`, and looks for three names in the latter.
#
# What one would guess: an `await` in front makes the same record, or raises TypeError or NotImplementedError.
#
# Whoever moves a program to asyncio so loses the headers of pushes, such as a time of expiry, and all reports of
# failure.
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
import time

import confluent_kafka
import confluent_kafka.aio

# The broker is the one inside librdkafka that it has for tests; its topics have four partitions.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
settings = {"bootstrap.servers": address, "log_level": 0}
reports = []


def report(error, message):
    reports.append(message)


headers = [("apns-expiration", b"1795000600")]
at = 1795000000000
calls = {
    "by-position": lambda producer, topic: producer.produce(topic, b"v", b"k", 3, report, report, at, headers),
    "on_delivery": lambda producer, topic: producer.produce(topic, b"v", b"k", partition=3, on_delivery=report),
    "no-such-name": lambda producer, topic: producer.produce(topic, b"v", b"k", partition=3, header=headers),
    "headers": lambda producer, topic: producer.produce(topic, b"v", b"k", partition=3, headers=headers),
}


def read(topic):
    consumer = confluent_kafka.Consumer({**settings, "group.id": "g"})
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in range(4)])
    message = consumer.poll(20)
    consumer.close()
    when = message.timestamp()[1]
    when = "now" if abs(when / 1000 - time.time()) < 300 else when
    return message.partition(), when, message.headers(), f"reports: {len(reports)}"


def synchronous(call, topic):
    producer = confluent_kafka.Producer(settings)
    call(producer, topic)
    assert producer.flush(20) == 0


async def asynchronous(call, topic):
    producer = confluent_kafka.aio.AIOProducer(settings)
    try:
        future = await call(producer, topic)
        await producer.flush(20)
        await asyncio.wait_for(future, 20)
    finally:
        await producer.close()


def look(name, way):
    topic = f"{name}-{way.__name__}"
    mock.list_topics(topic, timeout=20)
    reports.clear()
    try:
        done = way(calls[name], topic)
        if done:
            asyncio.run(done)
    except (NotImplementedError, TypeError) as error:
        return type(error).__name__
    return read(topic)


of_key = 1  # the partition of this key
expected = {
    "by-position": ((3, at, headers, "reports: 1"), (of_key, "now", None, "reports: 0")),
    "on_delivery": ((3, "now", None, "reports: 1"), (3, "now", None, "reports: 0")),
    "no-such-name": ("TypeError", (3, "now", None, "reports: 0")),
    "headers": ((3, "now", headers, "reports: 0"), "NotImplementedError"),
}
print("confluent-kafka", importlib.metadata.version("confluent-kafka"))
for name in calls:
    seen = look(name, synchronous), look(name, asynchronous)
    print(f"  {name}: Producer: {seen[0]}; AIOProducer: {seen[1]}")
    assert seen == expected[name], seen
PYTHON
}

look 2.13.0
look 2.16.1
