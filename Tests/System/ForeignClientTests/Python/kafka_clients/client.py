# SPDX-License-Identifier: Apache-2.0
"""What a Kafka client library has to do for the checks; each library has a file with a class `Client`.

A method that a library does not have is left out: the check that needs it is reported as "none".
"""

from collections import namedtuple

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

    def __init__(self, kafka):
        self.kafka = kafka

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise Missing(f"no {name}")

    def close(self):
        pass
