#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kafka-python 2.0.2 and 2.3.0 cannot read a batch of more than a mebibyte (here 3,000,000 bytes) that librdkafka (2.12.1,
# of confluent-kafka; and 2.0.2, of kcat 1.7.1 in Debian 12) compressed with zstd: ZstdError. They read the same batch
# compressed with gzip, snappy and lz4, and one of 1,000,000 bytes with zstd. kafka-python 3.0.12 reads all.
#
# It is the size before compression that counts, when the frame does not say it; librdkafka's frames do not. So a batch of
# 127 bytes in Kafka is too large, and no limit on sizes of producer, broker or consumer helps.
#
# Guessed before it was run: a client reads what another client's codec writes, at any size that the limits allow.
#
# Whoever raises `batch.size` or `message.max.bytes` of a producer past a mebibyte stops such a consumer at that offset.
#
# Fails if a version reads otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kcat -V | grep -q '^Version 1\.7\.1 .*librdkafka 2\.0\.2'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: confluent-kafka==2.12.1 \
  zstandard==0.25.0 lz4==4.4.5 python-snappy==0.7.3

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "kafka-python==$1"
  "$folder/python/bin/python" - "$folder/value" "$2" <<'PYTHON'
import logging
import subprocess
import sys

import confluent_kafka
import kafka
import kafka.record.default_records as records
import zstandard

logging.disable(logging.CRITICAL)
# The broker is the one inside librdkafka that it has for tests; it keeps the batches as they came.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
frames = []
decode = records.zstd_decode


def watch(payload):
    frames.append((len(payload), zstandard.frame_content_size(bytes(payload))))
    return decode(payload)


records.zstd_decode = watch


def with_confluent(topic, codec, value):
    settings = {"bootstrap.servers": address, "compression.type": codec, "log_level": 0}
    producer = confluent_kafka.Producer({**settings, "message.max.bytes": 8000000, "batch.size": 8000000})
    producer.produce(topic, value, partition=0)
    assert producer.flush(20) == 0


def with_kcat(topic, codec, value):
    with open(sys.argv[1], "wb") as file:
        file.write(value)
    line = ["kcat", "-q", "-P", "-b", address, "-t", topic, "-p", "0", "-z", codec, "-X", "message.max.bytes=8000000"]
    subprocess.run([*line, file.name], check=True, timeout=60)


def read(topic):
    # Without a version of the broker's, kafka-python 3 asks for one in a way that this broker does not know.
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=address, api_version=(2, 0), consumer_timeout_ms=20000, max_partition_fetch_bytes=9000000
    )
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    try:
        return f"{len(next(consumer).value)} bytes"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        consumer.close()


print(f"kafka-python {kafka.__version__}")
for produce in (with_confluent, with_kcat):
    for codec, size in (("gzip", 3000000), ("snappy", 3000000), ("lz4", 3000000), ("zstd", 1000000), ("zstd", 3000000)):
        topic = f"{produce.__name__}-{codec}-{size}"
        mock.list_topics(topic, timeout=20)
        produce(topic, codec, b"A" * size)
        seen = read(topic)
        print(f"  {topic}: {seen}", *frames)
        if codec == "zstd":
            assert frames[0][0] < 200 and frames[0][1] == -1, frames  # -1: the frame does not say
        if codec == "zstd" and size > 1048576 and sys.argv[2] == "fails":
            assert seen == "ZstdError: decompression error: did not decompress full frame", seen
        else:
            assert seen == f"{size} bytes", seen
        frames.clear()
PYTHON
}

look 2.0.2 fails
look 2.3.0 fails
look 3.0.12 reads
