#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# FastStream 0.7.8 with Kafka (aiokafka 0.14.0), a subscriber `async def push(token: str)`, and records as another
# client writes them, without headers. "0a1b" comes, and each of these is lost: "123456", "123456e7", "true", "null",
# `{"aps":{}}`. The handler is not called, and the group's offset is behind them. `"0a1b"` comes without its quotes.
# The same holds for `async def push(token: bytes)`.
#
# A body without a content type is read as JSON if it is some. What it is then does not fit the annotation, and what
# the validation raises counts as an error in the handler, after which the record is acknowledged, with the settings
# that FastStream has.
#
# Guessed before it was run: a handler that asks for `bytes` gets those of the record, and one that asks for `str` their
# text.
#
# Whoever has identifiers of eight hexadecimal digits there loses one in thirty or so: those that are a number as JSON
# has them.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: 'faststream[kafka]==0.7.8' \
  aiokafka==0.14.0 confluent-kafka==2.16.1
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata
import logging

import confluent_kafka
from faststream.kafka import KafkaBroker

logging.disable(logging.CRITICAL)
# The broker is the one inside librdkafka that it has for tests.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
records = [b"0a1b", b"123456", b"123456e7", b"true", b"null", b'{"aps":{}}', b'"0a1b"', b"last"]


def committed(topic):
    reader = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": f"{topic}-group", "log_level": 0})
    offset = reader.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=20)[0].offset
    reader.close()
    return offset


async def read(topic, kind):
    seen, done = [], asyncio.Event()
    broker = KafkaBroker(address, logger=None)

    @broker.subscriber(topic, group_id=f"{topic}-group", auto_offset_reset="earliest")
    async def push(token: kind):
        seen.append(token)
        if token in ("last", b"last"):
            done.set()

    await broker.start()
    await asyncio.wait_for(done.wait(), 40)
    await broker.stop()
    return seen


names = ("faststream", "aiokafka")
print(*(f"{name} {importlib.metadata.version(name)};" for name in names), "records:", *records)
for topic, kind, expected in (
    ("texts", str, ["0a1b", "0a1b", "last"]),
    ("bytes", bytes, [b"0a1b", b"0a1b", b"last"]),
):
    mock.list_topics(topic, timeout=20)
    for record in records:
        mock.produce(topic, record, partition=0)
    assert mock.flush(20) == 0
    seen = asyncio.run(read(topic, kind))
    offset = committed(topic)
    print(f"  {kind.__name__}: the handler had {seen}; offset of the group: {offset}")
    assert seen == expected and offset == len(records), (seen, offset)
PYTHON
