# SPDX-License-Identifier: Apache-2.0
"""sarama, the Go client, as Debian has it; sarama/main.go does one operation in a process of its own."""

import base64
import json
import pathlib
import subprocess

from client import Base, ProcessMember, Read

ROOT = pathlib.Path(__file__).resolve().parents[5]
PROGRAM = ROOT / ".build/python-clients/sarama/operation"


def text(value):
    return None if value is None else base64.b64encode(value).decode()


def raw(value):
    return None if value is None else base64.b64decode(value)


def read(told):
    headers = [(raw(pair["Key"]).decode(), raw(pair["Value"])) for pair in told["Headers"]]
    return Read(
        told["Partition"], told["Offset"], raw(told["Key"]), raw(told["Value"]), headers, told["Time"])


class Client(Base):
    version = (PROGRAM.parent / "version").read_text().strip()
    # Before its version 1.27 it has no static members.
    tells_fencing = False

    def _do(self, operation, **arguments):
        result = subprocess.run(
            [PROGRAM, operation], input=json.dumps({"Kafka": self.kafka, **arguments}), capture_output=True,
            text=True, timeout=120)
        assert result.returncode == 0, result.stderr[-1_000:]
        return json.loads(result.stdout)

    def produce(self, topic, records, codec="none", idempotent=False, acks="all"):
        told = [
            {"Partition": record.partition, "Key": text(record.key), "Value": text(record.value),
             "Time": int(record.time),
             "Headers": [{"Key": text(name.encode()), "Value": text(value)} for name, value in record.headers]}
            for record in records
        ]
        places = self._do(
            "produce", Topic=topic, Records=told, Codec=codec, Idempotent=idempotent, Acks=-1 if acks == "all" else acks)
        return [tuple(place) for place in places]

    def read(self, topic, partition, offset, count):
        return list(map(read, self._do("read", Topic=topic, Partition=partition, Offset=offset, Count=count)))

    def offsets(self, topic, partition, time):
        time = {"earliest": -2, "latest": -1}.get(time, time)
        return self._do("offset", Topic=topic, Partition=partition, Time=time)

    def commit(self, group, topic, partition, offset, metadata):
        self._do("commit", Group=group, Topic=topic, Partition=partition, Offset=offset, Metadata=metadata)

    def committed(self, group, topic, partition):
        return tuple(self._do("committed", Group=group, Topic=topic, Partition=partition))

    def member(self, group, topic, instance=None):
        return Member(self, group, topic)

    def create_topic(self, topic, partitions, configs):
        self._do("create_topic", Topic=topic, Count=partitions, Configs=configs)

    def topics(self):
        return self._do("topics")

    def add_partitions(self, topic, count):
        self._do("add_partitions", Topic=topic, Count=count)

    def configs(self, topic):
        return self._do("configs", Topic=topic)

    def alter_config(self, topic, name, value):
        self._do("alter_config", Topic=topic, Name=name, Value=value)

    def groups(self):
        return self._do("groups")

    def group_state(self, group):
        return self._do("group_state", Group=group).upper()

    def delete_records(self, topic, partition, offset):
        self._do("delete_records", Topic=topic, Partition=partition, Offset=offset)
        return offset

    def delete_topic(self, topic):
        self._do("delete_topic", Topic=topic)


class Member(ProcessMember):
    """It commits by itself what it has told."""

    def __init__(self, client, group, topic):
        super().__init__([PROGRAM, "member"], json.dumps({"Kafka": client.kafka, "Group": group, "Topic": topic}))

    def take(self, line):
        told = json.loads(line)
        self.partitions = told.get("partitions", self.partitions)
        if "record" in told:
            self.found.append(Read(*told["record"], None, None, [], 0))
