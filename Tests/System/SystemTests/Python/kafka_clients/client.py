# SPDX-License-Identifier: Apache-2.0
"""What a Kafka client library has to do for the checks; each library has a file with a class `Client`.

A method that a library does not have is left out: the check that needs it is reported as "none".
"""

import os
import select
import subprocess
from collections import namedtuple

from broker import die_with_parent

Record = namedtuple("Record", "partition key value headers time")
Read = namedtuple("Read", "partition offset key value headers time")

SESSION_MS = 3_000
HEARTBEAT_MS = 500


class Missing(Exception):
    """The library cannot do this."""


class Fenced(Exception):
    """Another member of the group has the same group.instance.id."""


class Base:
    # Whether records can be given times of their own.
    has_times = True
    # Whether it tells an application that another member has its group.instance.id.
    tells_fencing = True
    # Whether a member commits while it reads, and not only when it leaves.
    commits_soon = True

    def __init__(self, kafka):
        self.kafka = kafka

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise Missing(f"no {name}")

    def close(self):
        pass


class ProcessMember:
    """A member of a group that is a program, which says on its outputs what it reads and commits it by itself."""

    def __init__(self, command, text=""):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=die_with_parent)
        self.process.stdin.write(text.encode())
        self.process.stdin.close()
        self.partitions, self.found = [], []
        self.rest = {self.process.stdout: b"", self.process.stderr: b""}

    def poll(self):
        """Partitions that are assigned, and the records that came."""
        for stream in select.select(list(self.rest), [], [], 0.2)[0]:
            more = os.read(stream.fileno(), 1 << 16)
            if not more:
                del self.rest[stream]
                continue
            *lines, self.rest[stream] = (self.rest[stream] + more).split(b"\n")
            for line in lines:
                if stream is self.process.stdout:
                    self.take(line.decode())
                else:
                    self.take_note(line.decode())
        found, self.found = self.found, []
        return self.partitions, found

    def take_note(self, line):
        pass

    def commit(self):
        return True

    def close(self):
        self.process.terminate()
        self.process.wait()
