# SPDX-License-Identifier: Apache-2.0
"""Users and rights of `martlet broker --users FILE`, with confluent-kafka and kafka-python.

    users.py --martlet PROGRAM

Prints a JSON object for each client and check: {"client", "check", "result"}; the result is ok, or what came instead.
Exit status 1 if a check failed.
"""

import argparse
import json
import logging
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[5] / ".build/python-clients/kafka-python"))

import confluent_kafka
import kafka
import kafka.errors

from broker import running

USERS = """
user admin master
  create cluster
user writer secret
  write topic things-*
user reader hidden
  read topic things-*
  read group readers
"""


class Confluent:
    """confluent-kafka (librdkafka)."""

    wrong_password = "_AUTHENTICATION"

    def __init__(self, address, user, password):
        self.errors = []
        self.settings = {
            "bootstrap.servers": address, "security.protocol": "sasl_plaintext", "sasl.mechanisms": "PLAIN",
            "sasl.username": user, "sasl.password": password, "error_cb": self.errors.append}

    def create(self, topic):
        from confluent_kafka.admin import AdminClient, NewTopic
        admin = AdminClient(self.settings)
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)

    def _refused(self, name):
        return any(error.name() == name for error in self.errors)

    def produce(self, topic, value):
        """Returns the name of the error."""
        results = []
        producer = confluent_kafka.Producer(self.settings)
        producer.produce(topic, value, on_delivery=lambda error, _: results.append(error and error.name()))
        until(lambda: producer.poll(0.1) or results or self._refused("_AUTHENTICATION"))
        return results[0] if results else "_AUTHENTICATION" if self._refused("_AUTHENTICATION") else "nothing"

    def read(self, topic, group):
        """Returns the first value, or the name of the error."""
        consumer = confluent_kafka.Consumer(
            {**self.settings, "group.id": group, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        found = until(lambda: consumer.poll(0.1))
        consumer.close()
        return found and (found.error().name() if found.error() else found.value())


class Log(logging.Handler):
    """Keeps what a library logs."""

    text = ""

    def emit(self, record):
        self.text += record.getMessage()


class KafkaPython:
    """kafka-python 3, which tries again with a wrong password, and tells its log alone."""

    wrong_password = "SaslAuthenticationFailedError"

    def __init__(self, address, user, password):
        self.settings = {
            "bootstrap_servers": address, "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN",
            "sasl_plain_username": user, "sasl_plain_password": password}

    def create(self, topic):
        admin = kafka.KafkaAdminClient(**self.settings)
        admin.create_topics([kafka.admin.NewTopic(topic, 1, 1)])
        admin.close()

    def produce(self, topic, value):
        log = Log()
        logging.getLogger("kafka").addHandler(log)
        try:
            producer = kafka.KafkaProducer(**self.settings, max_block_ms=3_000, enable_idempotence=False)
            producer.send(topic, value).get(10)
            producer.close()
        except kafka.errors.KafkaError as error:
            return self.wrong_password if self.wrong_password in log.text else name(error)
        return None

    def read(self, topic, group):
        try:
            consumer = kafka.KafkaConsumer(
                topic, **self.settings, group_id=group, auto_offset_reset="earliest")
            found = until(lambda: [one for records in consumer.poll(200).values() for one in records])
            consumer.close()
        except kafka.errors.KafkaError as error:
            return name(error)
        return found and found[0].value


def name(error):
    """Kafka's name of an error, where it has one."""
    return getattr(error, "message", type(error).__name__)


def until(condition):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
    return None


def checks(kind, address, topic):
    def user(name, password):
        return kind(address, name, password)

    user("admin", "master").create(topic)
    yield "write", user("writer", "secret").produce(topic, b"one"), None
    yield "read", user("reader", "hidden").read(topic, "readers"), b"one"
    yield "wrong password", user("writer", "hidden").produce(topic, b"two"), kind.wrong_password
    yield "write without the right", user("reader", "hidden").produce(topic, b"two"), "TOPIC_AUTHORIZATION_FAILED"
    yield "read without the right", user("writer", "secret").read(topic, "readers"), "GROUP_AUTHORIZATION_FAILED"
    yield "another group", user("reader", "hidden").read(topic, "others"), "GROUP_AUTHORIZATION_FAILED"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--martlet", required=True)
    arguments = parser.parse_args()
    failures = 0
    with tempfile.NamedTemporaryFile("w") as file:
        os.chmod(file.name, 0o600)
        file.write(USERS)
        file.flush()
        with running(arguments.martlet, "--users", file.name) as broker:
            for kind in (Confluent, KafkaPython):
                for check, found, expected in checks(kind, broker.kafka, f"things-{kind.__name__}"):
                    result = "ok" if found == expected else str(found)
                    failures += result != "ok"
                    print(json.dumps({"client": kind.__name__, "check": check, "result": result}), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
