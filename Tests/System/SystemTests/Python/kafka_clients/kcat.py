# SPDX-License-Identifier: Apache-2.0
"""kcat (librdkafka), a program: what it has no flag for is missing."""

import json
import re
import subprocess

from client import HEARTBEAT_MS, SESSION_MS, Base, Fenced, ProcessMember, Read

TEXT = subprocess.run(["kcat", "-V"], capture_output=True, text=True).stdout
FORMAT = "%p\t%o\t%K\t%k\t%S\t%s\t%h\t%T\n"


def parse(line):
    partition, offset, key_size, key, size, value, headers, time = line.split("\t")
    pairs = [tuple(pair.split("=")) for pair in headers.split(",") if pair]
    return Read(
        int(partition), int(offset), None if key_size == "-1" else key.encode(),
        None if size == "-1" else value.encode(), [(name, text.encode()) for name, text in pairs], int(time))


class Client(Base):
    version = "{} (librdkafka {})".format(*re.search(r"Version (\S+) .*librdkafka (\S+)", TEXT).groups())
    # Its records have the time at which they are produced.
    has_times = False
    commits_soon = False

    def _run(self, *flags, text=None):
        result = subprocess.run(
            ["kcat", "-b", self.kafka, *flags], input=text, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def produce(self, topic, records, codec="none", idempotent=False, acks="all"):
        flags = ["-z", codec] if codec != "none" else []
        flags += ["-X", f"enable.idempotence={str(idempotent).lower()}", "-X", f"acks={acks}"]
        kinds = {}
        for record in records:
            kind = (record.partition, tuple(record.headers), record.value is None)
            kinds.setdefault(kind, []).append(record)
        for (partition, headers, _), alike in kinds.items():
            named = [flag for name, value in headers for flag in ("-H", f"{name}={value.decode()}")]
            lines = "".join(
                f"{(record.key or b'').decode()}|{(record.value or b'').decode()}\n" for record in alike)
            self._run("-P", "-t", topic, "-p", str(partition), "-Z", "-K", "|", *flags, *named, text=lines)
        return []

    def read(self, topic, partition, offset, count):
        output = self._run(
            "-C", "-q", "-e", "-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count), "-f", FORMAT)
        return [parse(line) for line in output.splitlines()]

    def offsets(self, topic, partition, time):
        number = {"earliest": -2, "latest": -1}.get(time, time)
        output = self._run("-Q", "-t", f"{topic}:{partition}:{number}")
        return int(output.rsplit("offset", 1)[1])

    def topics(self):
        return {topic["topic"]: len(topic["partitions"]) for topic in json.loads(self._run("-L", "-J"))["topics"]}

    def member(self, group, topic, instance=None):
        return Member(self, group, topic, instance)


class Member(ProcessMember):
    """kcat -G, which commits when it leaves."""

    def __init__(self, client, group, topic, instance):
        flags = ["-X", f"session.timeout.ms={SESSION_MS}", "-X", f"heartbeat.interval.ms={HEARTBEAT_MS}",
                 "-X", "auto.commit.interval.ms=100", "-X", "auto.offset.reset=earliest"]
        if instance:
            flags += ["-X", f"group.instance.id={instance}"]
        super().__init__(["kcat", "-b", client.kafka, *flags, "-E", "-u", "-f", FORMAT, "-G", group, topic])

    def take(self, line):
        self.found.append(parse(line))

    def take_note(self, line):
        if "rebalanced" in line:
            self.partitions = sorted(map(int, re.findall(r"\[(\d+)\]", line.partition("assigned:")[2])))
        elif "fenced" in line.lower():
            raise Fenced(line)
