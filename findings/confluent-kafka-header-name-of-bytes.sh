#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# confluent-kafka 2.0.2 and 2.16.1 take a record's header whose name is bytes, (b"apns-id", b"…"), as h2 and ASGI have
# the headers of HTTP, and write Python's notation of it: the name in Kafka is b'apns-id', of 10 characters, with the
# b and the quotation marks. A key and a value of bytes they take as they are; other names, as 5, become text too.
# kafka-python 2.0.2 and aiokafka 0.12.0 raise an error.
#
# What is no str is made one with `str`.
#
# What one would guess: the name has these bytes, as the value has, or TypeError.
#
# Whoever hands on headers of a request has records in which no reader finds them: no id, and no time of expiry.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: kafka-python==2.0.2 \
  aiokafka==0.12.0 h2==4.3.0

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "confluent-kafka==$1"
  "$folder/python/bin/python" - <<'PYTHON'
import asyncio
import importlib.metadata

import aiokafka
import confluent_kafka
import h2.config
import h2.connection
import h2.events
import kafka

# The headers of a push, as h2 gives them to a server.
client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
client.initiate_connection()
server.initiate_connection()
request = [(":method", "POST"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
client.send_headers(1, [*request, ("apns-expiration", "0")])
events = server.receive_data(client.data_to_send())
received = next(event.headers for event in events if isinstance(event, h2.events.RequestReceived))
headers = [(name, value) for name, value in received if name.startswith(b"apns-")]
assert [tuple(map(bytes, header)) for header in headers] == [(b"apns-expiration", b"0")], headers

# The broker is the one inside librdkafka that it has for tests.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
mock.list_topics("pushes", timeout=20)


def with_confluent():
    mock.produce("pushes", b"{}", partition=0, headers=headers)
    assert mock.flush(20) == 0
    settings = {"bootstrap.servers": address, "group.id": "g", "log_level": 0}
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition("pushes", 0, 0)])
    message = consumer.poll(20)
    consumer.close()
    return message.headers()


def with_kafka_python():
    producer = kafka.KafkaProducer(bootstrap_servers=address, api_version=(2, 0))
    try:
        producer.send("pushes", b"{}", partition=0, headers=headers)
        return "sent"
    except (AssertionError, AttributeError, TypeError) as error:
        return type(error).__name__
    finally:
        producer.close()


async def with_aiokafka():
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=address)
    await producer.start()
    try:
        await producer.send_and_wait("pushes", b"{}", partition=0, headers=headers)
        return "sent"
    except (AssertionError, AttributeError, TypeError) as error:
        return type(error).__name__
    finally:
        await producer.stop()


seen = with_confluent()
others = with_kafka_python(), asyncio.run(with_aiokafka())
print(f"confluent-kafka {importlib.metadata.version('confluent-kafka')} writes {seen}")
print(f"  kafka-python: {others[0]}; aiokafka: {others[1]}")
assert seen == [("b'apns-expiration'", b"0")], seen
assert "sent" not in others, others
PYTHON
}

look 2.0.2
look 2.16.1
