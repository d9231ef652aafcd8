# SPDX-License-Identifier: Apache-2.0
"""aiokafka. Its loop has a thread of its own, so that it runs between two calls."""

import asyncio
import threading

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from client import HEARTBEAT_MS, SESSION_MS, Base, Fenced, Read

LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


def wait(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, LOOP).result(30)


def read(record):
    return Read(
        record.partition, record.offset, record.key, record.value, list(record.headers), record.timestamp)


class Client(Base):
    version = aiokafka.__version__
    # Its heartbeats and commits do not carry the instance: the broker knows no such member, and it joins again.
    tells_fencing = False

    def __init__(self, kafka):
        super().__init__(kafka)
        self.admin = wait(self._started(lambda: AIOKafkaAdminClient(bootstrap_servers=kafka)))

    @staticmethod
    async def _started(make):
        made = make()
        await made.start()
        return made

    def close(self):
        wait(self.admin.close())

    # Records

    def produce(self, topic, records, codec="none", idempotent=False, acks="all"):
        async def produce():
            producer = await self._started(lambda: AIOKafkaProducer(
                bootstrap_servers=self.kafka, compression_type=None if codec == "none" else codec,
                acks=acks, linger_ms=5, enable_idempotence=idempotent))
            try:
                sent = [
                    await producer.send(
                        topic, record.value, record.key, record.partition, record.time, record.headers)
                    for record in records
                ]
                return [await future for future in sent]
            finally:
                await producer.stop()

        return [(place.partition, place.offset) for place in wait(produce())]

    def transact(self):
        async def transact():
            producer = AIOKafkaProducer(bootstrap_servers=self.kafka, transactional_id="one")
            try:
                await asyncio.wait_for(producer.start(), 5)
            finally:
                await producer.stop()

        try:
            wait(transact())
        except KafkaError as error:
            return error.errno
        return 0

    async def _consumer(self, group=None, topics=(), **more):
        return await self._started(lambda: AIOKafkaConsumer(
            *topics, bootstrap_servers=self.kafka, group_id=group, enable_auto_commit=False,
            auto_offset_reset="earliest", session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS, **more))

    def read(self, topic, partition, offset, count):
        async def read_all():
            consumer = await self._consumer()
            place = TopicPartition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, offset)
            found = []
            for _ in range(50):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found.extend(map(read, records))
                if len(found) >= count:
                    break
            await consumer.stop()
            return found

        return wait(read_all())

    def offsets(self, topic, partition, time):
        async def offsets():
            consumer = await self._consumer()
            place = TopicPartition(topic, partition)
            try:
                if time == "earliest":
                    return (await consumer.beginning_offsets([place]))[place]
                if time == "latest":
                    return (await consumer.end_offsets([place]))[place]
                found = (await consumer.offsets_for_times({place: time}))[place]
                return found.offset if found else -1
            finally:
                await consumer.stop()

        return wait(offsets())

    # Groups

    def commit(self, group, topic, partition, offset, metadata):
        async def commit():
            consumer = await self._consumer(group)
            place = TopicPartition(topic, partition)
            consumer.assign([place])
            await consumer.commit({place: OffsetAndMetadata(offset, metadata)})
            await consumer.stop()

        wait(commit())

    def committed(self, group, topic, partition):
        found = wait(self.admin.list_consumer_group_offsets(group, partitions=[TopicPartition(topic, partition)]))
        place = found[TopicPartition(topic, partition)]
        return place.offset, place.metadata

    def member(self, group, topic, instance=None):
        return Member(self, group, topic, instance)

    # Administration

    def create_topic(self, topic, partitions, configs):
        answer = wait(self.admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)]))
        assert answer.topic_errors[0][1] == 0, answer

    def topics(self):
        return {topic["topic"]: len(topic["partitions"]) for topic in wait(self.admin.describe_topics())}

    def add_partitions(self, topic, count):
        wait(self.admin.create_partitions({topic: NewPartitions(count)}))

    def configs(self, topic):
        answer = wait(self.admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))[0]
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}

    def alter_config(self, topic, name, value):
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        answer = wait(self.admin.alter_configs([resource]))[0]
        assert answer.resources[0][0] == 0, answer

    def groups(self):
        return [group[0] for group in wait(self.admin.list_consumer_groups())]

    def group_state(self, group):
        return wait(self.admin.describe_consumer_groups([group]))[0].groups[0][2].upper()

    def delete_records(self, topic, partition, offset):
        place = TopicPartition(topic, partition)
        return wait(self.admin.delete_records({place: RecordsToDelete(offset)}))[place]

    def delete_topic(self, topic):
        answer = wait(self.admin.delete_topics([topic]))
        assert answer.topic_error_codes[0][1] == 0, answer


class Member:
    def __init__(self, client, group, topic, instance):
        more = {"group_instance_id": instance} if instance else {}
        self.consumer = wait(client._consumer(group, [topic], **more))

    def poll(self):
        """Partitions that are assigned, and the records that came."""
        try:
            records = wait(self.consumer.getmany(timeout_ms=200))
        except KafkaError as error:
            raise_if_fenced(error)
            raise
        found = [read(record) for batch in records.values() for record in batch]
        return sorted(place.partition for place in self.consumer.assignment()), found

    def commit(self):
        try:
            wait(self.consumer.commit())
        except KafkaError as error:
            raise_if_fenced(error)
            return False
        return True

    def close(self):
        wait(self.consumer.stop())


def raise_if_fenced(error):
    if getattr(error, "errno", None) == 82:
        raise Fenced(str(error)) from error
