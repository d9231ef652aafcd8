# SPDX-License-Identifier: Apache-2.0
"""Produces requests with confluent-kafka and reads what became of them, as an application would.

Reads one record a line from --requests and produces it to push.requests. Then consumes push.receipts
and push.dead-letters as a group until --receipts outcomes and --dead-letters records are there. Prints
one JSON object for each: {"receipt": {...}} or {"dead_letter": {"value": ..., "headers": {...}}}.
"""

import argparse
import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, Producer


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--requests", required=True)
    parser.add_argument("--receipts", type=int, required=True)
    parser.add_argument("--dead-letters", type=int, required=True)
    parser.add_argument("--timeout", type=float, default=100)
    return parser.parse_args()


def produce(args):
    refused = []

    def delivered(error, _message):
        if error is not None:
            refused.append(str(error))

    producer = Producer({"bootstrap.servers": args.kafka, "linger.ms": 5})
    with open(args.requests, "rb") as file:
        for line in file:
            producer.produce("push.requests", line.rstrip(b"\n"), on_delivery=delivered)
            producer.poll(0)
    left = producer.flush(args.timeout)
    if left or refused:
        sys.exit(f"{left} records were not delivered, {len(refused)} refused: {refused[:3]}")


def found(message):
    if message.topic() == "push.receipts":
        # Many receipts per record, one per line.
        return [{"receipt": json.loads(line)} for line in message.value().splitlines()]
    headers = {name: value.decode() for name, value in message.headers()}
    value = message.value().decode(errors="replace")
    return [{"dead_letter": {"value": value, "headers": headers}}]


def consume(args):
    consumer = Consumer(
        {
            "bootstrap.servers": args.kafka,
            "group.id": "an-application",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["push.receipts", "push.dead-letters"])
    missing = {"receipt": args.receipts, "dead_letter": args.dead_letters}
    deadline = time.monotonic() + args.timeout
    while any(count > 0 for count in missing.values()):
        if time.monotonic() > deadline:
            sys.exit(f"still missing after {args.timeout} s: {missing}")
        message = consumer.poll(0.2)
        if message is None:
            continue
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                continue
            sys.exit(str(message.error()))
        for entry in found(message):
            missing[next(iter(entry))] -= 1
            print(json.dumps(entry))
    consumer.close()


ARGUMENTS = arguments()
produce(ARGUMENTS)
consume(ARGUMENTS)
