# SPDX-License-Identifier: Apache-2.0
"""confluent-kafka (librdkafka)."""

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

from client import HEARTBEAT_MS, SESSION_MS, Base, Fenced, Missing, Read

VERSION = confluent_kafka.version()
if isinstance(VERSION, tuple):
    VERSION = VERSION[0]


def read(message):
    return Read(
        message.partition(), message.offset(), message.key(), message.value(), message.headers() or [],
        message.timestamp()[1])


class Client(Base):
    version = f"{VERSION} (librdkafka {confluent_kafka.libversion()[0]})"

    def __init__(self, kafka):
        super().__init__(kafka)
        self.admin = AdminClient({"bootstrap.servers": kafka})

    # Records

    def produce(self, topic, records, codec="none", idempotent=False, acks="all"):
        producer = Producer({
            "bootstrap.servers": self.kafka, "compression.type": codec, "acks": acks, "linger.ms": 5,
            "enable.idempotence": idempotent})
        places, errors = [], []

        def delivered(error, message):
            if error:
                errors.append(error)
            else:
                places.append((message.partition(), message.offset()))

        for record in records:
            producer.produce(
                topic, record.value, record.key, record.partition, timestamp=record.time,
                headers=record.headers, on_delivery=delivered)
        left = producer.flush(10)
        assert not left and not errors, f"{left} not delivered, {errors[:3]}"
        return places

    def transact(self):
        producer = Producer({"bootstrap.servers": self.kafka, "transactional.id": "one"})
        try:
            producer.init_transactions(5)
        except confluent_kafka.KafkaException as error:
            return error.args[0].code()
        return 0

    def _consumer(self, group, **more):
        return Consumer({
            "bootstrap.servers": self.kafka, "group.id": group, "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS, **more})

    def read(self, topic, partition, offset, count):
        consumer = self._consumer("reader")
        consumer.assign([TopicPartition(topic, partition, offset)])
        found = []
        for _ in range(50):
            for message in consumer.consume(count - len(found), 0.2):
                assert not message.error(), message.error()
                found.append(read(message))
            if len(found) >= count:
                break
        consumer.close()
        return found

    def offsets(self, topic, partition, time):
        consumer = self._consumer("reader")
        try:
            if time in ("earliest", "latest"):
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
                return low if time == "earliest" else high
            return consumer.offsets_for_times([TopicPartition(topic, partition, time)], timeout=30)[0].offset
        finally:
            consumer.close()

    # Groups

    def commit(self, group, topic, partition, offset, metadata):
        consumer = self._consumer(group)
        place = TopicPartition(topic, partition, offset)
        if hasattr(place, "metadata"):
            try:
                place = TopicPartition(topic, partition, offset, metadata)
            except TypeError:
                pass
        answer = consumer.commit(offsets=[place], asynchronous=False)
        assert not answer[0].error, answer[0].error
        consumer.close()

    def committed(self, group, topic, partition):
        consumer = self._consumer(group)
        found = consumer.committed([TopicPartition(topic, partition)], timeout=30)[0]
        consumer.close()
        return found.offset, getattr(found, "metadata", None)

    def member(self, group, topic, instance=None):
        return Member(self, group, topic, instance)

    # Administration

    def create_topic(self, topic, partitions, configs):
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=configs)])[topic].result(10)

    def topics(self):
        return {name: len(topic.partitions) for name, topic in self.admin.list_topics(timeout=30).topics.items()}

    def add_partitions(self, topic, count):
        self.admin.create_partitions([NewPartitions(topic, count)])[topic].result(10)

    def configs(self, topic):
        resource = ConfigResource("topic", topic)
        found = self.admin.describe_configs([resource])[resource].result(10)
        return {name: entry.value for name, entry in found.items()}

    def alter_config(self, topic, name, value):
        if hasattr(self.admin, "incremental_alter_configs"):
            from confluent_kafka.admin import AlterConfigOpType, ConfigEntry
            entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource("topic", topic, incremental_configs=[entry])
            self.admin.incremental_alter_configs([resource])[resource].result(10)
        else:
            resource = ConfigResource("topic", topic, set_config={name: value})
            self.admin.alter_configs([resource])[resource].result(10)

    def groups(self):
        return [group.group_id for group in self.admin.list_consumer_groups().result(10).valid]

    def group_state(self, group):
        return self.admin.describe_consumer_groups([group])[group].result(10).state.name

    def delete_records(self, topic, partition, offset):
        if not hasattr(self.admin, "delete_records"):
            raise Missing("no delete_records")
        place = TopicPartition(topic, partition, offset)
        return self.admin.delete_records([place])[place].result(10).low_watermark

    def delete_group(self, group):
        self.admin.delete_consumer_groups([group])[group].result(10)

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])[topic].result(10)


class Member:
    def __init__(self, client, group, topic, instance):
        more = {"group.instance.id": instance} if instance else {}
        self.consumer = client._consumer(group, **more)
        self.consumer.subscribe([topic])
        self.partitions = []

    def poll(self):
        """Partitions that are assigned, and the records that came."""
        found = []
        for message in self.consumer.consume(500, 0.2):
            if not message.error():
                found.append(read(message))
            elif message.error().code() == KafkaError._FATAL or message.error().fatal():
                raise Fenced(message.error().str())
        return sorted(place.partition for place in self.consumer.assignment()), found

    def commit(self):
        try:
            self.consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.FENCED_INSTANCE_ID:
                raise Fenced(str(error)) from error
            if code != KafkaError._NO_OFFSET:
                return False
        return True

    def close(self):
        self.consumer.close()
