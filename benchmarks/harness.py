# SPDX-License-Identifier: Apache-2.0
"""Starting, measuring and ending the processes of a benchmark."""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import re
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
# BENCHMARK_BUILD=DIR uses the programs of another build as they are.
BUILD = pathlib.Path(os.environ.get("BENCHMARK_BUILD") or ROOT / ".build" / "release")
TOKEN = "0123456789abcdef" * 4
BODY_BYTES = 262
# Status pages on a port of the system's choice: Process.pages().
PAGES = ("--http", "127.0.0.1:0")


class Failure(Exception):
    """The benchmark cannot go on; says why."""


def log(text):
    print(f"benchmark: {text}", file=sys.stderr, flush=True)


def prepare():
    """Installs what is missing and builds in release mode."""
    # A client with 1,000 connections needs more than the usual 1,024 files.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if "BENCHMARK_BUILD" in os.environ:
        return
    run = [str(ROOT / "scripts" / "setup"), "--bench"]
    if subprocess.run(run, stdout=sys.stderr).returncode != 0:
        raise Failure("scripts/setup --bench failed")
    log("building in release mode")
    build = ["swift", "build", "-c", "release", "--package-path", str(ROOT)]
    if subprocess.run(build, stdout=sys.stderr).returncode != 0:
        raise Failure("the build failed")


class Process:
    """A process of the benchmark, with its log in the work folder."""

    def __init__(self, name, arguments, folder):
        self.name = name
        self.log = open(folder / f"{name}.log", "wb")
        self.popen = subprocess.Popen(
            [str(argument) for argument in arguments], stdout=self.log, stderr=self.log,
            stdin=subprocess.DEVNULL)

    def cpu(self):
        """Microseconds of CPU that its threads have used."""
        total = 0
        tasks = pathlib.Path(f"/proc/{self.popen.pid}/task")
        for task in tasks.iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except (OSError, IndexError):
                pass
        return total / 1_000

    def thread_cpu(self, name):
        """Microseconds of CPU that the thread with this name has used."""
        for task in pathlib.Path(f"/proc/{self.popen.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == name:
                return int((task / "schedstat").read_text().split()[0]) / 1_000
        raise Failure(f"{self.name} has no thread {name}")

    def address(self, event):
        """Host and port that it logs as a URL with this event, such as "HTTP API"; waits for it.

        Ports are the system's choice (port 0): one that is found free before may be taken when the process comes.
        """
        def found():
            return re.search(rf" {event} url=\w+://(\S+)", pathlib.Path(self.log.name).read_text(errors="replace"))
        wait_until(found, self, f'did not log "{event}"', every=0.002)
        return found()[1]

    def pages(self):
        """Host and port of its status pages: of a process with `--http 127.0.0.1:0`."""
        return self.address("status pages")

    def counter(self, name):
        """A counter's value in the newest line of counters; 0 if it was never counted."""
        found = re.findall(rf"\b{name}=(\d+)", pathlib.Path(self.log.name).read_text(errors="replace"))
        return int(found[-1]) if found else 0

    def resident_mib(self):
        return self.memory_mib("VmRSS")

    def peak_mib(self):
        """The most that was ever resident."""
        return self.memory_mib("VmHWM")

    def anonymous_mib(self):
        """Resident memory of the process alone: no pages of files."""
        return self.memory_mib("RssAnon")

    def proportional_mib(self):
        """Resident memory in which a page that several processes use counts for each of them in part."""
        return self.memory_mib("Pss", "smaps_rollup")

    def memory_mib(self, name, file="status"):
        for line in pathlib.Path(f"/proc/{self.popen.pid}/{file}").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1_024
        raise Failure(f"{self.name} has ended; see its log")

    def check(self):
        if self.popen.poll() is not None:
            raise Failure(f"{self.name} ended with status {self.popen.returncode}:\n{self.tail()}")

    def tail(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")[-2_000:]

    def stop(self):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
            try:
                self.popen.wait(20)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()
        self.log.close()


class Rig:
    """A folder with keys, and the processes of one benchmark; ends them all at exit."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="martlet-benchmark-"))
        self.processes = []
        self.token = None
        self.prefix = "push."
        self.created = False

    def __enter__(self):
        call([BUILD / "martlet", "keys", "generate", self.folder / "keys"])
        (self.folder / "body.json").write_text(body())
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()
        self.delete_topics()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, *arguments, under=()):
        """Starts a program of the build; `under` is a command that runs it, such as valgrind."""
        path = pathlib.Path(BUILD, name)
        process = Process(
            f"{path.name}-{len(self.processes)}", [*under, path, *arguments], self.folder)
        self.processes.append(process)
        return process

    def broker(self, **partitions):
        """Kafka: an embedded broker of this rig's, or topics of its own on the cluster of --kafka.

        `partitions` are those of further topics, by their short names. Returns the broker's processes: none is ours on
        a cluster.
        """
        lanes = self.options.partitions
        counts = {"notifications": lanes, "notifications.bulk": lanes, "requests": lanes, **partitions}
        words = ["--partitions", ",".join(f"{name}={count}" for name, count in counts.items())]
        if getattr(self.options, "kafka", None):
            self.create_topics(words)
            return []
        address = self.folder / "broker.address"
        process = self.start("martlet", "broker", "--address-file", address, "--dir", self.folder / "kafka", *words)
        self.kafka = wait_for_file(address, process).strip()
        return [process]

    def create_topics(self, words):
        self.kafka = self.options.kafka
        self.prefix = f"martlet-benchmark-{secrets.token_hex(4)}."
        call([BUILD / "benchmark-tool", "topics", *self.topics(), *words])
        self.created = True
        log(f"created topics {self.prefix}*")

    def delete_topics(self):
        if not self.created:
            return
        try:
            call([BUILD / "benchmark-tool", "topics", *self.topics(), "--delete"])
        except Failure as failure:
            log(f"the topics {self.prefix}* are still there: {failure}")

    def topics(self):
        """The flags by which every program finds this rig's topics."""
        return ["--kafka", self.kafka, "--topic-prefix", self.prefix]

    def services(self):
        """The same for services. Beside the embedded broker with the session that `martlet up` sets."""
        session = ["--kafka.consumer.session.timeout.ms=6000"]
        return [*self.topics(), *([] if getattr(self.options, "kafka", None) else session)]

    def simulator(self, *flags):
        address = self.folder / f"simulator-{len(self.processes)}.address"
        keys = self.folder / "keys"
        process = self.start(
            "apns-simulator", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
            "--certificate", keys / "gateway.pem", "--certificate-key", keys / "gateway-key.pem",
            "--keys", keys / "gateway-keys.json", "--address-file", address, *flags)
        announced = json.loads(wait_for_file(address, process))
        self.port = int(announced["listening"].rsplit(":", 1)[1])
        self.admin = announced["admin"]
        return process

    def signer(self, *flags, credentials=1):
        path = self.folder / "keys" / "credentials.json"
        if credentials > 1:
            path = self.folder / "keys" / "many.json"
            path.write_text(json.dumps({"credentials": many_credentials(self.folder / "keys", credentials)}))
            path.chmod(0o600)
        return self.start("martlet-signer", *self.services(), "--credentials", path, *flags)

    def ingest(self, *flags):
        return self.start("martlet-ingest", *self.services(), *flags)

    def feedback(self, *flags, database=None):
        return self.start(
            "martlet-feedback", *self.services(), "--database", database or self.folder / "tokens.db",
            # A day's invalid tokens in a minute are no wave here.
            "--bad-token-limit", "10000000", *flags)

    def api(self, *flags):
        """The HTTP API, which takes the key "benchmark"."""
        keys = self.folder / "api-keys.json"
        keys.write_text(json.dumps([{
            "name": "benchmark", "sha256": hashlib.sha256(b"benchmark").hexdigest(), "apps": ["*"]}]))
        return self.start("martlet-api", *self.services(), "--keys", keys, "--listen", "127.0.0.1:0", *flags)

    def webhooks(self, *flags):
        """martlet-webhooks with an endpoint at which nothing listens."""
        path = self.folder / "subscriptions.json"
        path.write_text(json.dumps([{
            "name": "benchmark", "url": "https://localhost:1/", "apps": ["*"],
            "secrets": ["whsec_" + base64.b64encode(bytes(32)).decode()], "events": ["notification.rejected"]}]))
        path.chmod(0o600)
        return self.start("martlet-webhooks", *self.services(), "--subscriptions", path, *flags)

    def sender(self, *flags, program="martlet-sender", under=()):
        gateway = f"localhost:{self.port}"
        return self.start(
            program, *self.services(), "--gateway", gateway, "--sandbox-gateway",
            gateway, "--gateway-roots", self.folder / "keys" / "root.pem", "--loops",
            self.options.loops, *flags, under=under)

    def load(self, kind, count, *flags, timeout=600):
        """Runs the load to its end; returns records per second."""
        result = self.loaded(kind, count, *flags, timeout=timeout)
        return result["produced"] / result["seconds"]

    def loaded(self, kind, count, *flags, timeout=600):
        """Runs the load to its end; returns what it prints."""
        output = call([
            BUILD / "benchmark-tool", "load", *self.topics(), "--kind", kind, "--count", count,
            "--apps", self.options.apps, *flags], timeout=timeout, among=self.processes)
        return json.loads(output.strip().splitlines()[-1])

    def start_load(self, kind, count, *flags):
        """Starts the load beside what is measured."""
        return self.start(
            "benchmark-tool", "load", *self.topics(), "--kind", kind, "--count", count, "--apps",
            self.options.apps, *flags)

    def receipts(self):
        """All receipts that Kafka still has, as they are read."""
        for line in self.inspect("receipts"):
            if '"outcome"' in line:
                yield json.loads(line[line.index("{"):])

    def inspect(self, topic, *flags):
        """The lines of `martlet inspect` for a whole topic, as they are read."""
        command = [BUILD / "martlet", "inspect", topic, *self.topics(), "--raw", "--from", "beginning", *flags]
        with subprocess.Popen(
                [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL, text=True) as reading:
            yield from reading.stdout
        if reading.returncode != 0:
            raise Failure(f"martlet inspect {topic} ended with status {reading.returncode}")

    def h2load(self, count, port=None, *flags, connections=1, streams=100):
        """h2load on the gateway: its own CPU microseconds a request.

        It sends what a sender sends, a provider token included, but one token and one id for all. What
        many connections cost to make does not count: a sender's are there before.
        """
        def run(requests):
            return requests * h2load(
                requests, port or self.port, self.folder / "body.json", "-H", self.bearer(),
                "-c", connections, "-m", streams, *flags)

        if connections == 1:
            return run(count) / count
        return (run(count) - run(connections)) / (count - connections)

    def bearer(self):
        if not self.token:
            self.token = provider_token(self.folder / "keys")
        return f"authorization: bearer {self.token}"


def children_cpu():
    """Seconds of CPU of all commands that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def h2load(count, port, body_file, *flags):
    before = children_cpu()
    output = call([
        "h2load", "-n", count, "-t", 1, "-d", body_file,
        "-H", "apns-topic: com.example.app", "-H", "apns-push-type: alert",
        "-H", "apns-priority: 10", "-H", "apns-id: 0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e",
        *flags, f"https://localhost:{port}/3/device/{TOKEN}"], timeout=600)
    seconds = children_cpu() - before
    if f"{count} done" not in output:
        raise Failure(f"h2load did not finish its requests:\n{output}")
    return seconds * 1e6 / count


def call(arguments, timeout=120, among=()):
    """Runs a command to its end and returns what it printed; fails as soon as one of the processes `among` ends."""
    command = [str(argument) for argument in arguments]
    deadline = time.monotonic() + timeout
    with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL) as running:
        while True:
            try:
                output, errors = running.communicate(timeout=1)
                break
            except subprocess.TimeoutExpired:
                try:
                    for process in among:
                        process.check()
                    if time.monotonic() > deadline:
                        raise Failure(f"{command[0]} did not end within {timeout} s") from None
                except Failure:
                    running.kill()
                    raise
            except KeyboardInterrupt:
                # Sent to this process alone, it would leave the command behind.
                running.kill()
                raise
    if running.returncode != 0:
        raise Failure(f"{command[0]} failed:\n{output[-1000:]}{errors[-2000:]}")
    return output


def wait_until(condition, process, failing, seconds=30, every=0.05):
    """Waits for the condition; fails if the process ends before, or is still `failing` when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        process.check()
        if condition():
            return
        if time.monotonic() > deadline:
            raise Failure(f"{process.name} {failing} within {seconds} s:\n{process.tail()}")
        time.sleep(every)


def wait_for_file(path, process):
    wait_until(
        lambda: path.exists() and path.read_text().endswith("\n"), process, f"did not write {path.name}")
    return path.read_text()


def answers(url):
    """True if a page answers 200."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
        return True
    return False


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def body():
    return '{"aps":{"alert":"' + "x" * (BODY_BYTES - 20) + '"}}'


def many_credentials(keys, count):
    """So many credentials with one key, each for one app of the load."""
    one = json.loads((keys / "credentials.json").read_text())["credentials"][0]
    return [
        {**one, "team_id": f"TEAM{number:06}", "apps": [f"com.example.app{number}"]}
        for number in range(count)]


def provider_token(keys):
    """A provider token made by the openssl command, for clients that have no signer."""
    def part(value):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(text).rstrip(b"=").decode()

    credential = json.loads((keys / "credentials.json").read_text())["credentials"][0]
    header = part({"alg": "ES256", "kid": credential["key_id"]})
    claims = part({"iss": credential["team_id"], "iat": int(time.time())})
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", str(keys / credential["key_file"])],
        input=f"{header}.{claims}".encode(), capture_output=True, check=True).stdout
    return f"{header}.{claims}.{part(signature)}"
