# SPDX-License-Identifier: Apache-2.0
"""kafka-python, of major version 2 and 3."""

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from client import HEARTBEAT_MS, SESSION_MS, Base, Fenced, Missing, Read

MAJOR = int(kafka.__version__.split(".")[0])


def read(record):
    return Read(
        record.partition, record.offset, record.key, record.value, list(record.headers), record.timestamp)


def committed(offset, metadata):
    fields = OffsetAndMetadata._fields
    return OffsetAndMetadata(*[{"offset": offset, "metadata": metadata}.get(name, -1) for name in fields])


class Client(Base):
    version = kafka.__version__
    tells_fencing = MAJOR >= 3

    def __init__(self, address):
        super().__init__(address)
        self.admin = KafkaAdminClient(bootstrap_servers=address)

    def close(self):
        self.admin.close()

    # Records

    def produce(self, topic, records, codec="none", idempotent=False, acks="all"):
        settings = {"compression_type": None if codec == "none" else codec, "acks": acks, "linger_ms": 5}
        if idempotent:
            if MAJOR < 3:
                raise Missing("no idempotence")
            settings["enable_idempotence"] = True
        elif MAJOR >= 3:
            settings["enable_idempotence"] = False
        producer = KafkaProducer(bootstrap_servers=self.kafka, **settings)
        futures = [
            producer.send(
                topic, record.value, record.key, record.headers, record.partition, record.time)
            for record in records
        ]
        places = [future.get(10) for future in futures]
        producer.close()
        return [(place.partition, place.offset) for place in places]

    def transact(self):
        if MAJOR < 3:
            raise Missing("no transactions")
        producer = KafkaProducer(bootstrap_servers=self.kafka, transactional_id="one")
        try:
            producer.init_transactions()
        except KafkaError as error:
            return error.errno
        finally:
            producer.close(timeout=1)
        return 0

    def _consumer(self, group=None, topics=(), **more):
        return KafkaConsumer(
            *topics, bootstrap_servers=self.kafka, group_id=group, enable_auto_commit=False,
            auto_offset_reset="earliest", session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS, **more)

    def read(self, topic, partition, offset, count):
        consumer = self._consumer()
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        consumer.seek(place, offset)
        found = []
        for _ in range(50):
            for records in consumer.poll(200).values():
                found += map(read, records)
            if len(found) >= count:
                break
        consumer.close()
        return found

    def offsets(self, topic, partition, time):
        consumer = self._consumer()
        place = TopicPartition(topic, partition)
        try:
            if time == "earliest":
                return consumer.beginning_offsets([place])[place]
            if time == "latest":
                return consumer.end_offsets([place])[place]
            found = consumer.offsets_for_times({place: time})[place]
            return found.offset if found else -1
        finally:
            consumer.close()

    # Groups

    def commit(self, group, topic, partition, offset, metadata):
        consumer = self._consumer(group)
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        consumer.commit({place: committed(offset, metadata)})
        consumer.close()

    def committed(self, group, topic, partition):
        consumer = self._consumer(group)
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        found = consumer.committed(place, metadata=True)
        consumer.close()
        return (found.offset, found.metadata) if found else (-1, "")

    def member(self, group, topic, instance=None):
        return Member(self, group, topic, instance)

    # Administration

    def create_topic(self, topic, partitions, configs):
        self.admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])

    def topics(self):
        found = self.admin.describe_topics()
        return {topic.get("topic", topic.get("name")): len(topic["partitions"]) for topic in found}

    def add_partitions(self, topic, count):
        self.admin.create_partitions({topic: NewPartitions(count)})

    def configs(self, topic):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        if MAJOR >= 3:
            found = self.admin.describe_configs([resource], config_filter="all")
            entries = next(iter(found.values()))[topic]
            return {name: entry["value"] for name, entry in entries.items()}
        answer = self.admin.describe_configs([resource])[0]
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}

    def alter_config(self, topic, name, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        answer = self.admin.alter_configs([resource])
        assert MAJOR >= 3 or answer.resources[0][0] == 0, answer

    def groups(self):
        if MAJOR >= 3:
            return [group["group_id"] for group in self.admin.list_groups()]
        return [name for name, _ in self.admin.list_consumer_groups()]

    def group_state(self, group):
        if MAJOR >= 3:
            return self.admin.describe_groups([group])[group]["group_state"].upper()
        return self.admin.describe_consumer_groups([group])[0].state.upper()

    def delete_records(self, topic, partition, offset):
        if MAJOR < 3:
            raise Missing("no delete_records")
        place = TopicPartition(topic, partition)
        return self.admin.delete_records({place: offset})[place]["low_watermark"]

    def delete_offsets(self, group, topic, partition):
        if MAJOR < 3:
            raise Missing("no delete_offsets")
        place = TopicPartition(topic, partition)
        error = self.admin.delete_group_offsets(group, [place])[place]
        assert error.errno == 0, error

    def delete_group(self, group):
        if MAJOR >= 3:
            answer = self.admin.delete_groups([group])
            assert answer in ({group: "OK"}, [(group, answer[0][1])] if isinstance(answer, list) else None), answer
        else:
            error = self.admin.delete_consumer_groups([group])[0][1]
            assert error.errno == 0, error

    def delete_topic(self, topic):
        self.admin.delete_topics([topic])


class Member:
    def __init__(self, client, group, topic, instance):
        more = {"group_instance_id": instance} if instance else {}
        self.consumer = client._consumer(group, [topic], **more)

    def poll(self):
        """Partitions that are assigned, and the records that came."""
        try:
            records = self.consumer.poll(200)
        except KafkaError as error:
            raise_if_fenced(error)
            raise
        found = [read(record) for batch in records.values() for record in batch]
        return sorted(place.partition for place in self.consumer.assignment()), found

    def commit(self):
        try:
            self.consumer.commit()
        except KafkaError as error:
            raise_if_fenced(error)
            return False
        return True

    def close(self):
        self.consumer.close()


def raise_if_fenced(error):
    if getattr(error, "errno", None) == 82:
        raise Fenced(str(error)) from error
