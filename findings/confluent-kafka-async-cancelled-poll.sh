#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `await asyncio.wait_for(consumer.poll(10), 1)` on the AIOConsumer of confluent-kafka 2.13.0 and 2.16.1 times out, as
# nothing is there. The next push that is produced is never seen: not by the next `poll`, nor by any after it. Four
# times so, four pushes are gone; the position is behind them, and `commit` commits it. `getone` of aiokafka 0.14.0,
# used in the same way, has all four, and so has `poll(1)` of AIOConsumer without `wait_for`.
#
# The `poll` runs in a thread, which the cancelling does not reach. It takes the next message, and nobody has its
# result.
#
# Guessed before it was run: an awaitable that is cancelled has taken nothing, and the next `poll` has the message.
#
# Whoever waits for a push or a signal to end, whichever comes first, with timeouts or by cancelling, loses a push for
# each wait in which none came, without an error, at-least-once or not.
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

import aiokafka
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.aio import AIOConsumer

# The broker is the one inside librdkafka that it has for tests.
mock = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())


def push(topic, number):
    mock.produce(topic, str(number), partition=0)
    assert mock.flush(20) == 0


async def take(topic, wait, look):
    """Waits for nothing and then has a push produced, four times; then looks what is there."""
    taken = []
    for turn in range(8):
        try:
            message = await (wait() if turn < 4 else look())
        except asyncio.TimeoutError:
            message = None
        if message is not None:
            taken.append(message)
        if turn < 4:
            push(topic, turn)
            await asyncio.sleep(1)
    return taken


async def with_confluent(topic, wait):
    settings = {"bootstrap.servers": address, "group.id": topic, "enable.auto.commit": False, "log_level": 0}
    consumer = AIOConsumer(settings)
    await consumer.assign([TopicPartition(topic, 0, 0)])

    messages = await take(topic, lambda: wait(consumer), lambda: consumer.poll(1))
    assert not any(message.error() for message in messages)
    await consumer.commit(asynchronous=False)
    committed = (await consumer.committed([TopicPartition(topic, 0)]))[0].offset
    await consumer.close()
    return [int(message.value()) for message in messages], committed


async def with_aiokafka(topic):
    consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=address, group_id=None)
    await consumer.start()
    consumer.assign([aiokafka.TopicPartition(topic, 0)])
    await consumer.seek_to_beginning()

    def wait():
        return asyncio.wait_for(consumer.getone(), 1)

    records = await take(topic, wait, wait)
    await consumer.stop()
    return [int(record.value) for record in records]


async def run():
    for topic in ("cancelled", "whole", "other"):
        mock.list_topics(topic, timeout=20)
    print("confluent-kafka", importlib.metadata.version("confluent-kafka"))
    cancelled = await with_confluent("cancelled", lambda consumer: asyncio.wait_for(consumer.poll(10), 1))
    whole = await with_confluent("whole", lambda consumer: consumer.poll(1))
    other = await with_aiokafka("other")
    print(f"  AIOConsumer, wait_for(poll(10), 1): taken {cancelled[0]}, committed {cancelled[1]}")
    print(f"  AIOConsumer, poll(1): taken {whole[0]}, committed {whole[1]}")
    print(f"  aiokafka, wait_for(getone(), 1): taken {other}")
    assert cancelled == ([], 4), cancelled
    assert whole == ([0, 1, 2, 3], 4), whole
    assert other == [0, 1, 2, 3], other


asyncio.run(run())
PYTHON
}

look 2.13.0
look 2.16.1
