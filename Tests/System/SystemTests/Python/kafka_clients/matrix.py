# SPDX-License-Identifier: Apache-2.0
"""Runs a table of checks with Kafka client libraries against a broker: client × check.

    matrix.py --kafka HOST:PORT [--client NAME …]     against a broker that runs, without the checks of a restart
    matrix.py --martlet PROGRAM [--client NAME …]     starts `martlet broker` itself, and restarts it as well

Prints a JSON object for each client and check: {"client", "version", "check", "result", "detail"}; the result is
ok, failed, or none for what the library cannot do. Exit status 1 if a check failed. The libraries are where
scripts/setup --test puts them, below .build.
"""

import argparse
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import traceback

from broker import die_with_parent, running
from client import SESSION_MS, Fenced, Missing, Record

HERE = pathlib.Path(__file__).resolve()
LIBRARIES = HERE.parents[5] / ".build/python-clients"
# The client's name, its file here, and the folder of its library (none: that of the Python that runs this).
CLIENTS = {
    "confluent-kafka": ("confluent", None),
    "confluent-kafka-old": ("confluent", "confluent-kafka-old"),
    "aiokafka": ("aio", "aiokafka"),
    "kafka-python": ("kafka_python", "kafka-python"),
    "kafka-python-old": ("kafka_python", "kafka-python-old"),
    "kcat": ("kcat", None),
    "sarama": ("sarama", "sarama"),
}
PARTITIONS = 4
# Of the records: an hour ago. Older than the topic keeps records, they would be deleted.
TIME = int(os.environ.get("MATRIX_TIME") or (time.time() - 3_600) * 1_000)
# Group names and topics of two runs on one broker differ.
RUN = os.environ.get("MATRIX_RUN") or f"{os.getpid()}"


def load(name, kafka):
    file, folder = CLIENTS[name]
    if folder:
        sys.path.insert(0, str(LIBRARIES / folder))
    return importlib.import_module(file).Client(kafka)


def until(what, seconds, condition, state=str):
    # Seconds of a quiet machine: a busy one has several times as long.
    deadline = time.monotonic() + 5 * seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {5 * seconds} s: {what} {state()}")


# MARK: Members as processes, so that one can be killed


class MemberProcess:
    """Another process of the same library that reads as a member of a group, and says what it has committed."""

    def __init__(self, checks, group, topic, instance=None):
        flags = ["--instance", instance] if instance else []
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE), "--kafka", checks.client.kafka, "--client", checks.name,
             "--member", group, "--topic", topic, *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.partitions, self.read, self.committed, self.fenced, self.log = [], set(), set(), None, []
        self.threads = [
            threading.Thread(target=self._follow, daemon=True),
            threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _follow(self):
        for line in self.process.stdout:
            told = json.loads(line)
            self.partitions = told.get("partitions", self.partitions)
            self.read.update(map(tuple, told.get("read", [])))
            self.committed.update(map(tuple, told.get("committed", [])))
            self.fenced = told.get("fenced", self.fenced)

    def end(self, kind=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(kind)
        self.process.wait()
        for thread in self.threads:
            thread.join(2)


def be_member(client, group, topic, instance):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    def tell(**what):
        print(json.dumps(what), flush=True)

    member = client.member(group, topic, instance)
    last, unsaid = None, []
    try:
        while os.getppid() != 1:
            partitions, records = member.poll()
            if partitions != last:
                tell(partitions=partitions)
                last = partitions
            read = [(record.partition, record.offset) for record in records]
            # Before the commit: a member that is killed behind it has told what it read.
            if read:
                tell(read=read)
            unsaid += read
            # A commit without new records shows a fenced member as well.
            if member.commit() and unsaid:
                tell(committed=unsaid)
                unsaid = []
    except Fenced as error:
        tell(fenced=str(error))
        while True:
            time.sleep(1)


# MARK: Checks


class Checks:
    """One client's checks, in their order: later ones read what earlier ones wrote."""

    def __init__(self, name, client, broker):
        self.name, self.client, self.broker = name, client, broker
        self.topic = f"{name}-{RUN}"
        self.members = []

    def _records(self, count, partition=0):
        return [
            Record(partition, f"key-{number}".encode(), f"value-{number}".encode() * 20,
                   [("kind", b"test"), ("number", str(number).encode())], TIME + number * 1_000)
            for number in range(count)
        ]

    def _member(self, group, topic, instance=None):
        self.members.append(MemberProcess(self, group, topic, instance))
        return self.members[-1]

    def _made(self, topic, partitions=PARTITIONS):
        """A topic for a check; a library without administration gets it from another one."""
        try:
            self.client.create_topic(topic, partitions, {})
        except Missing:
            subprocess.run(
                [sys.executable, "-B", str(HERE), "--kafka", self.client.kafka, "--client", "confluent-kafka",
                 "--make", topic, "--partitions", str(partitions)], check=True)
        until("the topic is there", 5, lambda: self.client.topics().get(topic) == partitions)
        return topic

    def admin_create(self):
        self.client.create_topic(f"{self.topic}-made", 2, {"retention.ms": "3600000"})
        until("the topic is there", 5, lambda: self.client.topics().get(f"{self.topic}-made") == 2)

    def admin_partitions(self):
        self.client.add_partitions(f"{self.topic}-made", 5)
        until("it has 5 partitions", 5, lambda: self.client.topics().get(f"{self.topic}-made") == 5)

    def admin_configs(self):
        topic = f"{self.topic}-made"
        assert self.client.configs(topic)["retention.ms"] == "3600000", self.client.configs(topic)
        self.client.alter_config(topic, "retention.ms", "7200000")
        assert self.client.configs(topic)["retention.ms"] == "7200000", self.client.configs(topic)

    def admin_delete_topic(self):
        self.client.delete_topic(f"{self.topic}-made")
        until("it is gone", 5, lambda: f"{self.topic}-made" not in self.client.topics())

    def _round_trip(self, topic, records, **settings):
        before = self.client.offsets(topic, 0, "latest")
        places = self.client.produce(topic, records, **settings)
        assert not places or [place[1] for place in places] == list(range(before, before + len(records))), places
        found = self.client.read(topic, 0, before, len(records))
        assert len(found) == len(records), f"{len(found)} of {len(records)} read"
        for one, other in zip(records, found):
            assert (other.key or b"") == (one.key or b"") and other.value == one.value, (one, other)
            assert [(name, bytes(value)) for name, value in other.headers] == one.headers, (one, other)
            assert other.time == one.time or not self.client.has_times, (one, other)
        return found

    def produce(self):
        self._made(self.topic)
        self._round_trip(self.topic, self._records(50))

    def produce_gzip(self):
        self._round_trip(self.topic, self._records(50), codec="gzip")

    def produce_snappy(self):
        self._round_trip(self.topic, self._records(50), codec="snappy")

    def produce_lz4(self):
        self._round_trip(self.topic, self._records(50), codec="lz4")

    def produce_zstd(self):
        self._round_trip(self.topic, self._records(50), codec="zstd")

    def produce_idempotent(self):
        self._round_trip(self.topic, self._records(50), idempotent=True)

    def produce_acks(self):
        self._round_trip(self.topic, self._records(5), acks=1)

    def null_key(self):
        found = self._round_trip(self.topic, [Record(0, None, b"without a key", [], TIME)])
        assert found[0].key is None, found

    def null_value(self):
        found = self._round_trip(self.topic, [Record(0, b"key", None, [], TIME)])
        assert found[0].value is None, found

    def large_record(self):
        self._round_trip(self.topic, [Record(0, b"key", b"x" * 900_000, [], TIME)])

    def transactions_refused(self):
        assert self.client.transact() == 53, "not TRANSACTIONAL_ID_AUTHORIZATION_FAILED"

    def offsets(self):
        topic = self._made(f"{self.topic}-offsets", 1)
        self.client.produce(topic, self._records(20))
        assert self.client.offsets(topic, 0, "earliest") == 0
        assert self.client.offsets(topic, 0, "latest") == 20
        if self.client.has_times:
            assert self.client.offsets(topic, 0, TIME + 7_500) == 8, self.client.offsets(topic, 0, TIME + 7_500)
        else:
            assert self.client.offsets(topic, 0, 1) == 0
        assert self.client.offsets(topic, 0, 4_000_000_000_000) in (-1, 20)

    def admin_delete_records(self):
        topic = f"{self.topic}-offsets"
        assert self.client.delete_records(topic, 0, 12) == 12
        assert self.client.offsets(topic, 0, "earliest") == 12

    def commit(self):
        group = f"{self.topic}-commits"
        self.client.commit(group, self.topic, 0, 7, "what was committed")
        offset, metadata = self.client.committed(group, self.topic, 0)
        assert offset == 7 and metadata in (None, "what was committed"), (offset, metadata)

    def admin_groups(self):
        group = f"{self.topic}-commits"
        assert group in self.client.groups(), self.client.groups()
        assert self.client.group_state(group) == "EMPTY", self.client.group_state(group)

    def admin_delete_offsets(self):
        group = f"{self.topic}-commits"
        self.client.delete_offsets(group, self.topic, 0)
        assert self.client.committed(group, self.topic, 0)[0] in (-1, -1001)

    def admin_delete_group(self):
        group = f"{self.topic}-commits"
        self.client.delete_group(group)
        assert group not in self.client.groups(), self.client.groups()

    def _shared(self, first, second):
        def condition():
            together = sorted(first.partitions + second.partitions)
            return together == list(range(PARTITIONS)) and first.partitions and second.partitions
        until("two members share", 15, condition, self._state)

    def _state(self):
        return [
            (member.partitions, len(member.committed), "".join(member.log)[-500:]) for member in self.members]

    def _produce_everywhere(self, topic, count):
        for partition in range(PARTITIONS):
            self.client.produce(topic, self._records(count, partition))

    def group(self):
        """Two members share; one is killed; the other gets everything, and nothing committed is missing."""
        topic, group = self._made(f"{self.topic}-group"), f"{self.topic}-readers"
        first, second = self._member(group, topic), self._member(group, topic)
        self._shared(first, second)
        self._produce_everywhere(topic, 25)
        until("both commit", 10, lambda: first.committed and second.committed)
        try:
            assert self.client.group_state(group) == "STABLE", self.client.group_state(group)
        except Missing:
            pass
        second.end(signal.SIGKILL)
        self._produce_everywhere(topic, 25)
        until("the other one has all", SESSION_MS / 1_000 + 10, lambda: len(first.partitions) == PARTITIONS)
        until("all was read", 10, lambda: len(first.read | second.read) == PARTITIONS * 50, self._state)
        first.end()

    def static_member(self):
        """Of two members with one group.instance.id the older is fenced."""
        if not self.client.tells_fencing:
            raise Missing("does not tell of fencing")
        topic, group = self._made(f"{self.topic}-static"), f"{self.topic}-statics"
        first = self._member(group, topic, "one")
        until("it has all", 15, lambda: len(first.partitions) == PARTITIONS)
        second = self._member(group, topic, "one")
        until("the newer one has all", 15, lambda: len(second.partitions) == PARTITIONS)
        until("the older one is fenced", 15, lambda: first.fenced)
        self._produce_everywhere(topic, 5)
        until("all was read", 10, lambda: len(second.committed) == PARTITIONS * 5)
        assert not second.fenced, second.fenced

    def restart(self):
        """The coordinator is killed: members join again, and committed offsets are there."""
        topic, group = f"{self.topic}-group", f"{self.topic}-again"
        first, second = self._member(group, topic), self._member(group, topic)
        self._shared(first, second)
        until("all was read", 15, lambda: len(first.committed | second.committed) == PARTITIONS * 50, self._state)
        # A program says what it has read before it commits that.
        time.sleep(0.5)
        before = (set(first.committed), set(second.committed))
        self.broker.restart_once()
        first.committed.clear()
        second.committed.clear()
        self._produce_everywhere(topic, 5)
        until("the new records were read", 20, lambda: len(first.committed | second.committed) >= PARTITIONS * 5)
        self._shared(first, second)
        again = (first.committed | second.committed) & (before[0] | before[1])
        assert not again or not self.client.commits_soon, f"read again: {sorted(again)[:5]}"

    def end(self):
        for member in self.members:
            member.end(signal.SIGKILL)


BEFORE_RESTART = [
    "admin_create", "admin_partitions", "admin_configs", "admin_delete_topic", "produce", "produce_gzip",
    "produce_snappy", "produce_lz4", "produce_zstd", "produce_idempotent", "produce_acks", "null_key", "null_value",
    "large_record", "transactions_refused", "offsets", "admin_delete_records", "commit", "admin_groups",
    "admin_delete_offsets", "admin_delete_group", "group", "static_member",
]


def run(checks, names, tell):
    for name in names:
        began = time.monotonic()
        try:
            getattr(checks, name)()
            result, detail = "ok", ""
        except Missing as error:
            result, detail = "none", str(error)
        except Exception as error:  # noqa: BLE001 — whatever a library throws is a finding.
            result, detail = "failed", f"{error!r} {traceback.format_exc(limit=-3)}"
        tell(name, result, detail, time.monotonic() - began)
        checks.end()


class Restarts:
    """The parent restarts the broker when all clients wait for it; a client says so on a line of its own."""

    def restart_once(self):
        print(json.dumps({"restart": True}), flush=True)
        assert sys.stdin.readline().strip() == "restarted"


def run_client(name, arguments):
    client = load(name, arguments.kafka)
    checks = Checks(name, client, Restarts())

    def tell(check, result, detail, seconds):
        print(json.dumps({
            "client": name, "version": client.version, "check": check, "result": result, "detail": detail,
            "seconds": round(seconds, 1)}), flush=True)

    names = BEFORE_RESTART + (["restart"] if arguments.restart else [])
    run(checks, [one for one in names if not arguments.check or one in arguments.check], tell)
    client.close()


def run_all(arguments, kafka, restart):
    """Runs all clients beside each other."""
    flags = ["--restart"] if restart else []
    for check in arguments.check or []:
        flags += ["--check", check]
    names = arguments.client or [
        name for name, (_, folder) in CLIENTS.items() if not folder or (LIBRARIES / folder).exists()]
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-B", str(HERE), "--kafka", kafka, "--client", name, "--run", *flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
            env={**os.environ, "MATRIX_RUN": RUN, "MATRIX_TIME": str(TIME)})
        for name in names
    }
    results, waiting, lock = [], {}, threading.Condition()

    def follow(name, process):
        for line in process.stdout:
            with lock:
                told = json.loads(line)
                if "restart" in told:
                    waiting[name] = process
                else:
                    results.append(told)
                    print(line, end="", flush=True)
                lock.notify()
        with lock:
            waiting.setdefault(name, None)
            lock.notify()

    threads = [threading.Thread(target=follow, args=entry) for entry in processes.items()]
    for thread in threads:
        thread.start()
    if restart:
        with lock:
            lock.wait_for(lambda: len(waiting) == len(processes))
        restart()
        for process in waiting.values():
            if process:
                process.stdin.write("restarted\n")
                process.stdin.flush()
    for thread in threads:
        thread.join()
    for name, process in processes.items():
        if process.wait() != 0:
            detail = f"status {process.returncode}"
            results.append({"client": name, "check": "start", "result": "failed", "detail": detail})
            print(json.dumps(results[-1]), flush=True)
    return 1 if not results or any(result["result"] == "failed" for result in results) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka")
    parser.add_argument("--martlet")
    parser.add_argument("--client", action="append", choices=CLIENTS)
    parser.add_argument("--check", action="append")
    for inner in ("--member", "--topic", "--instance", "--make"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    parser.add_argument("--partitions", type=int, help=argparse.SUPPRESS)
    for inner in ("--run", "--restart"):
        parser.add_argument(inner, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        load(arguments.client[0], arguments.kafka).create_topic(arguments.make, arguments.partitions, {})
    elif arguments.member:
        be_member(load(arguments.client[0], arguments.kafka), arguments.member, arguments.topic, arguments.instance)
    elif arguments.run:
        run_client(arguments.client[0], arguments)
    elif arguments.martlet:
        with running(arguments.martlet) as broker:
            def restart():
                broker.kill()
                broker.start()

            return run_all(arguments, broker.kafka, restart)
    else:
        return run_all(arguments, arguments.kafka, None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
