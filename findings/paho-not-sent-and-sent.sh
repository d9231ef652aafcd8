#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that tells of pushes by MQTT publishes while it is not connected. `publish` of paho-mqtt 2.0.0 and 2.2.0
# returns rc 4, "The client is not currently connected." A program that tries again until rc is 0 has, after it has
# connected,
#
# - with QoS 1 and 2: every message that was answered with 4, besides that with 0. Three tries and a success are four
#   copies, and with QoS 2, which is "exactly once", too.
# - with QoS 0: the one.
#
# With a QoS above 0 a message without a connection is kept and sent later; rc says only that it was not sent now.
#
# Guessed before it was run: an error means that the message was not taken, whatever the QoS, and is the caller's.
#
# Whoever writes it to a table of what is to be sent again, as one does with errors, sends it twice.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: amqtt==0.12.1

cat > "$folder/look.py" <<'PYTHON'
import asyncio
import collections
import importlib.metadata
import logging
import queue
import socket
import threading

import paho.mqtt.client as mqtt
from amqtt.broker import Broker

logging.disable(logging.CRITICAL)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
settings = {
    "listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}},
    "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
}


async def start():
    broker = Broker(settings, loop=loop)
    await broker.start()
    return broker


def client(name):
    return mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, name)


broker = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
came, ready = queue.Queue(), threading.Event()
reader = client("reader")
reader.on_message = lambda _, __, message: came.put(message.payload.decode())
reader.on_subscribe = lambda *_: ready.set()
reader.connect("127.0.0.1", port)
reader.subscribe("pushes", 2)
reader.loop_start()
assert ready.wait(20)

writer = client("writer")
tries = {qos: [int(writer.publish("pushes", f"QoS {qos}", qos).rc) for _ in range(3)] for qos in (0, 1, 2)}
connected = threading.Event()
writer.on_connect = lambda *_: connected.set()
writer.connect("127.0.0.1", port)
writer.loop_start()
assert connected.wait(20)
for qos in tries:
    tries[qos].append(int(writer.publish("pushes", f"QoS {qos}", qos).rc))
writer.publish("pushes", "the last", 2).wait_for_publish(20)
seen = collections.Counter()
while (text := came.get(timeout=20)) != "the last":
    seen[text] += 1
print(f"paho-mqtt {importlib.metadata.version('paho-mqtt')}: rc by QoS {tries}; came: {dict(seen)}")
assert set(map(tuple, tries.values())) == {(4, 4, 4, 0)}, tries
assert seen == {"QoS 0": 1, "QoS 1": 4, "QoS 2": 4}, seen
for one in (reader, writer):
    one.disconnect()
    one.loop_stop()
asyncio.run_coroutine_threadsafe(broker.shutdown(), loop).result(20)
PYTHON

for version in 2.0.0 2.2.0; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "paho-mqtt==$version"
  "$folder/python/bin/python" "$folder/look.py"
done
