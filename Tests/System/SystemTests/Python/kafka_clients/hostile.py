# SPDX-License-Identifier: Apache-2.0
"""Hostile and slow clients against `martlet broker`: its memory stays bounded and others are served meanwhile.

    hostile.py --martlet PROGRAM [--connections 10000] [--frames 10000] [--seed N]

A good client produces a record and reads it back without stop; for each attack the result is its slowest round trip and
the broker's memory before, at its peak and after. Prints a JSON object for each attack; exit status 1 if a round trip
took more than --slowest milliseconds, the memory grew by more than --growth MiB, or the good client failed.
"""

import argparse
import contextlib
import json
import random
import resource
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker import die_with_parent, running

TOPIC = "good"


def text(value):
    return struct.pack(">h", len(value)) + value


def request(key, version, body, correlation=1):
    frame = struct.pack(">hhi", key, version, correlation) + text(b"hostile") + body
    return struct.pack(">i", len(frame)) + frame


def fetch(offset, wait=0, size=50 << 20):
    partition = struct.pack(">iqi", 0, offset, size)
    head = struct.pack(">iiiibi", -1, wait, 1, size, 0, 1)
    return request(1, 4, head + text(TOPIC.encode()) + struct.pack(">i", 1) + partition)


def end_offset():
    return request(2, 1, struct.pack(">ii", -1, 1) + text(TOPIC.encode()) + struct.pack(">iiq", 1, 0, -1))


def be_good(port):
    """Asks for the log's end and reads its first record, again and again, and measures each round trip.

    Each line of its input is answered with the slowest round trip since the last one, in milliseconds.
    """
    slowest, trips = 0.0, 0
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        stream = connection.makefile("rb")
        while True:
            began = time.monotonic()
            for one in (end_offset(), fetch(0, size=1)):
                connection.sendall(one)
                stream.read(struct.unpack(">i", stream.read(4))[0])
            slowest, trips = max(slowest, time.monotonic() - began), trips + 1
            if select.select([sys.stdin], [], [], 0.002)[0]:
                if not sys.stdin.readline():
                    return
                print(json.dumps([round(slowest * 1_000, 1), trips]), flush=True)
                slowest, trips = 0.0, 0


class Good:
    """The good client, in a process of its own: the attacks of this one take their time."""

    def __init__(self, port):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__, "--good", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1, preexec_fn=die_with_parent)

    def slowest(self):
        """Milliseconds of its slowest round trip since it was asked last, and how many there were."""
        try:
            self.process.stdin.write("\n")
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            return None, 0

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def connect(port, count):
    found = []
    for _ in range(count):
        connection = socket.socket()
        connection.connect(("127.0.0.1", port))
        found.append(connection)
    return found


class Attacks:
    def __init__(self, broker, arguments):
        self.broker, self.arguments = broker, arguments
        self.chance = random.Random(arguments.seed)
        self.peak = 0

    def _connected(self):
        return socket.create_connection(("127.0.0.1", self.broker.port), 5)

    def _look(self):
        self.peak = max(self.peak, self.broker.rss())

    def silent_connections(self):
        """Connections that are open and say nothing."""
        connections = connect(self.broker.port, self.arguments.connections)
        time.sleep(1)
        self._look()
        alive = sum(1 for connection in connections[-100:] if self._is_open(connection))
        for connection in connections:
            connection.close()
        return {"connections": len(connections), "open_of_the_last_100": alive}

    @staticmethod
    def _is_open(connection):
        connection.settimeout(0.001)
        try:
            return connection.recv(1) != b""
        except TimeoutError:
            return True
        except OSError:
            return False

    def hostile_frames(self):
        """Random bytes, wrong lengths, truncated requests; a connection for each few of them."""
        versions = [(key, version) for key in range(0, 70) for version in range(0, 14)]
        for number in range(self.arguments.frames):
            with contextlib.suppress(OSError), self._connected() as connection:
                kind = number % 5
                noise = self.chance.randbytes(self.chance.randrange(1, 400))
                if kind == 0:
                    frame = noise
                elif kind == 1:
                    frame = struct.pack(">I", self.chance.randrange(1 << 32)) + noise
                elif kind == 2:
                    frame = request(*self.chance.choice(versions), noise)
                elif kind == 3:
                    whole = fetch(0)
                    frame = whole[:self.chance.randrange(len(whole))]
                else:
                    # A list that announces more than there is.
                    frame = request(3, 1, struct.pack(">i", self.chance.randrange(1, 1 << 31)) + noise)
                connection.sendall(frame)
                if number % 3 == 0:
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(0.05)
                    with contextlib.suppress(TimeoutError):
                        connection.recv(1 << 16)
            if number % 100 == 0:
                self._look()
        return {"frames": self.arguments.frames}

    def never_reads(self):
        """Clients that ask for everything again and again, and read no answer."""
        connections = connect(self.broker.port, self.arguments.greedy)
        asked = 0
        for connection in connections:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(200):
                    connection.sendall(fetch(0))
                    asked += 1
            self._look()
        self._wait(3)
        for connection in connections:
            connection.close()
        return {"connections": len(connections), "requests": asked}

    def byte_by_byte(self):
        """Clients that announce 100 MB and send a byte at a time."""
        connections = connect(self.broker.port, 100)
        for connection in connections:
            connection.sendall(struct.pack(">i", 100 << 20))
        for _ in range(4):
            for connection in connections:
                connection.sendall(b"\0")
            self._wait(1)
        for connection in connections:
            connection.close()
        return {"connections": len(connections)}

    def unfinished_requests(self):
        """Clients that announce 100 MB of records and send 90 of them."""
        connections = connect(self.broker.port, self.arguments.greedy)
        chunk, sent, closed = bytes(1 << 20), 0, 0
        head = struct.pack(">ihhi", 100 << 20, 0, 3, 1)
        for connection in connections:
            connection.setblocking(True)
            connection.settimeout(0.2)
            try:
                connection.sendall(head)
                for _ in range(90):
                    connection.sendall(chunk)
                    sent += len(chunk)
            except TimeoutError:
                pass
            except OSError:
                closed += 1
            self._look()
        self._wait(1)
        for connection in connections:
            connection.close()
        return {"connections": len(connections), "sent_mib": sent >> 20, "closed": closed}

    def many_elements(self):
        """A request of Metadata with as many topics as a request has room for, each with an empty name."""
        answers = 0
        for size in (1 << 20, 8 << 20, 64 << 20):
            count = (size - 100) // 2
            with contextlib.suppress(OSError), self._connected() as connection:
                connection.settimeout(20)
                frame = request(3, 1, struct.pack(">i", count) + bytes(2 * count))
                sender = threading.Thread(target=self._send, args=(connection, frame))
                sender.start()
                while sender.is_alive():
                    self._wait(0.1)
                if connection.recv(4):
                    answers += 1
                self._look()
        return {"answers": answers}

    @staticmethod
    def _send(connection, frame):
        with contextlib.suppress(OSError):
            connection.sendall(frame)

    def _wait(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._look()
            time.sleep(0.05)


ATTACKS = [
    "silent_connections", "hostile_frames", "never_reads", "byte_by_byte", "unfinished_requests", "many_elements"]


def fill(kafka):
    """Enough records for large answers."""
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(10)
    producer = Producer({"bootstrap.servers": kafka})
    for _ in range(400):
        producer.produce(TOPIC, bytes(100_000))
        producer.poll(0)
    producer.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--martlet")
    parser.add_argument("--good", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--greedy", type=int, default=100, help="clients that take as much as they get")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowest", type=int, default=100, help="milliseconds of the good client's round trip")
    parser.add_argument("--growth", type=int, default=400, help="MiB by which the broker may grow")
    parser.add_argument("--attack", action="append", choices=ATTACKS)
    arguments = parser.parse_args()
    if arguments.good:
        return be_good(arguments.good)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    is_good = True
    with running(arguments.martlet) as broker:
        fill(broker.kafka)
        for name in arguments.attack or ATTACKS:
            attacks, good = Attacks(broker, arguments), Good(broker.port)
            time.sleep(0.5)
            calm, _ = good.slowest()
            before, began = broker.rss(), time.monotonic()
            told = getattr(attacks, name)()
            seconds = time.monotonic() - began
            slowest, trips = good.slowest()
            good.end()
            told |= {
                "attack": name, "seconds": round(seconds, 1), "calm_ms": calm, "slowest_ms": slowest,
                "round_trips": trips, "rss_before_mib": before >> 10, "rss_peak_mib": attacks.peak >> 10,
                "rss_after_mib": broker.rss() >> 10}
            print(json.dumps(told), flush=True)
            growth = (attacks.peak - before) >> 10
            is_good = is_good and slowest is not None and slowest <= arguments.slowest and growth <= arguments.growth
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
