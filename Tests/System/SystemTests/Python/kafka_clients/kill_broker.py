# SPDX-License-Identifier: Apache-2.0
"""Kills `martlet broker` with SIGKILL at random moments, under load, and starts it again on its port and folder.

    kill_broker.py --martlet PROGRAM --kills 50 --seed N

An idempotent producer (acks=all) writes numbered records to 4 partitions without stop, a group of two reads them.
At the end no acknowledged record may be missing, out of order within its partition, or there twice, and the group must
have read all of them. Prints one JSON object with the counts; exit status 1 if one of them is wrong. The moments follow
from the seed.
"""

import argparse
import json
import random
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker import running

TOPIC, GROUP, PARTITIONS = "numbers", "readers", 4


class Writer(threading.Thread):
    """Numbers each partition's records from 0."""

    def __init__(self, kafka):
        super().__init__()
        self.producer = Producer({
            "bootstrap.servers": kafka, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
            "message.timeout.ms": 300_000, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 50,
            "socket.timeout.ms": 5_000, "queue.buffering.max.messages": 20_000, "log_level": 0})
        self.written = [0] * PARTITIONS
        self.acknowledged = [set() for _ in range(PARTITIONS)]
        self.refused = []
        self.ending = threading.Event()

    def _delivered(self, error, message):
        if error:
            self.refused.append(str(error))
        else:
            self.acknowledged[message.partition()].add(int(message.value()))

    def run(self):
        while not self.ending.is_set():
            for partition in [*range(PARTITIONS)] * 10:
                number = self.written[partition]
                try:
                    self.producer.produce(
                        TOPIC, str(number), partition=partition, on_delivery=self._delivered)
                    self.written[partition] += 1
                except BufferError:
                    self.producer.poll(0.05)
            self.producer.poll(0.001)
        self.left = self.producer.flush(60)


class Reader(threading.Thread):
    def __init__(self, kafka, seen):
        super().__init__()
        self.seen = seen
        self.consumer = Consumer({
            "bootstrap.servers": kafka, "group.id": GROUP, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 500,
            "reconnect.backoff.max.ms": 200, "log_level": 0})
        self.consumer.subscribe([TOPIC])
        self.ending = threading.Event()
        self.commits = 0

    def run(self):
        is_committed = True
        while not self.ending.is_set():
            messages = [message for message in self.consumer.consume(1_000, 0.1) if not message.error()]
            for message in messages:
                self.seen[message.partition()].add(int(message.value()))
            is_committed = is_committed and not messages
            if not is_committed:
                # Not during a rebalance: then the next round tries again, here or in the other reader.
                try:
                    self.consumer.commit(asynchronous=False)
                    self.commits += 1
                    is_committed = True
                except KafkaException:
                    pass
        self.consumer.close()


def read_all(kafka):
    """The numbers of each partition, in its order."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "check", "enable.auto.commit": False})
    found = []
    for partition in range(PARTITIONS):
        place = TopicPartition(TOPIC, partition, 0)
        end = consumer.get_watermark_offsets(place, timeout=30)[1]
        consumer.assign([place])
        numbers, deadline = [], time.monotonic() + 60
        while len(numbers) < end and time.monotonic() < deadline:
            messages = consumer.consume(min(end - len(numbers), 10_000), 1)
            numbers += [int(message.value()) for message in messages if not message.error()]
        found.append(numbers)
    consumer.close()
    return found


def judge(found, writer, seen, committed):
    lost = sum(len(writer.acknowledged[one] - set(found[one])) for one in range(PARTITIONS))
    twice = sum(len(numbers) - len(set(numbers)) for numbers in found)
    disordered = sum(
        1 for numbers in found for one, next in zip(numbers, numbers[1:]) if next <= one)
    unread = sum(len(set(found[one]) - seen[one]) for one in range(PARTITIONS))
    uncommitted = sum(len(found[one]) - committed[one] for one in range(PARTITIONS))
    return {
        "acknowledged": sum(map(len, writer.acknowledged)), "refused": len(writer.refused), "left": writer.left,
        "lost": lost, "out_of_order": disordered, "twice": twice, "unread": unread, "uncommitted": uncommitted}


def committed_offsets(kafka):
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": GROUP})
    places = consumer.committed([TopicPartition(TOPIC, one) for one in range(PARTITIONS)], timeout=30)
    consumer.close()
    return [place.offset for place in places]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--martlet", required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 32)
    print(json.dumps({"seed": seed}), flush=True)
    chance = random.Random(seed)
    with running(arguments.martlet) as broker:
        admin = AdminClient({"bootstrap.servers": broker.kafka})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(10)
        writer, seen = Writer(broker.kafka), [set() for _ in range(PARTITIONS)]
        readers = [Reader(broker.kafka, seen) for _ in range(2)]
        for thread in [writer, *readers]:
            thread.start()
        slowest = 0
        for _ in range(arguments.kills):
            time.sleep(chance.uniform(0.05, 1.2))
            broker.kill()
            began = time.monotonic()
            broker.start()
            slowest = max(slowest, time.monotonic() - began)
        writer.ending.set()
        began = time.monotonic()
        writer.join()
        flushed = time.monotonic()
        deadline = flushed + 90
        while time.monotonic() < deadline:
            committed = committed_offsets(broker.kafka)
            if all(
                    min(len(seen[one]), committed[one]) >= len(writer.acknowledged[one])
                    for one in range(PARTITIONS)):
                break
            time.sleep(0.1)
        caught_up = time.monotonic()
        for reader in readers:
            reader.ending.set()
            reader.join()
        found = read_all(broker.kafka)
        result = judge(found, writer, seen, committed_offsets(broker.kafka))
        result |= {"kills": arguments.kills, "seed": seed, "slowest_start_seconds": round(slowest, 2),
                   "flush_seconds": round(flushed - began, 1), "catch_up_seconds": round(caught_up - flushed, 1),
                   "commits": sum(reader.commits for reader in readers)}
        print(json.dumps(result), flush=True)
    wrong = ["refused", "left", "lost", "out_of_order", "twice", "unread", "uncommitted"]
    return 1 if any(result[name] for name in wrong) or not result["acknowledged"] else 0


if __name__ == "__main__":
    sys.exit(main())
