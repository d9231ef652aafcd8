# SPDX-License-Identifier: Apache-2.0
"""`martlet broker` as a process that is killed and started again."""

import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import tempfile
import time


def die_with_parent():
    """For a process that is started: however this one ends, it ends as well (PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


# They end with this process.
claims = []


def free_port():
    """As `FreePort` of the Swift tests: below the system's ephemeral ports, and no other test gets it while the broker is
    away."""
    while True:
        port = random.SystemRandom().randrange(10_000, 15_000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0martlet-test-port-{port}")
            with socket.socket() as one:
                one.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            claims.append(claim)
            return port


class Broker:
    """Its records are in a folder, and its port stays the same."""

    def __init__(self, martlet, folder, flags=()):
        self.martlet, self.folder, self.flags = martlet, folder, flags
        self.port = free_port()
        self.kafka = f"127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        """Returns when it answers: then it has read what is in its folder."""
        address, log_file = os.path.join(self.folder, "address"), os.path.join(self.folder, "log")
        with contextlib.suppress(FileNotFoundError):
            os.remove(address)
        with open(log_file, "ab") as log:
            self.process = subprocess.Popen(
                [self.martlet, "broker", "--port", str(self.port), "--dir", os.path.join(self.folder, "data"),
                 "--address-file", address, *self.flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent)
        deadline = time.monotonic() + 60
        while not os.path.exists(address):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                with open(log_file) as log:
                    raise RuntimeError(f"no broker: {log.read()[-2_000:]}")
            time.sleep(0.01)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def rss(self):
        """Its memory in KiB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


@contextlib.contextmanager
def running(martlet, *flags):
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(martlet, folder, flags)
        try:
            yield broker
        finally:
            broker.kill()
