#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kcat 1.7.1 (that of Debian 12) and records that are empty, which a topic may have beside those that are null
# (tombstones). `-Z` is for null: it is to send what is empty as null, and to print NULL.
#
# - `kcat -P`, with and without `-Z`: of the three lines "one", "" and "two" it sends two records. The empty line is
#   neither an empty record nor a tombstone.
# - `kcat -P -K:`: the line "k:" is an empty value, and with `-Z` a tombstone; ":v" has an empty key, with `-Z` none.
# - `kcat -C -Z -f '%s'` prints NULL for an empty value as for a tombstone. `-f '%S'`, the length, tells 0 from -1, and
#   `-J` "" from null.
#
# What one would guess: a line is a record, also an empty one; and null and empty are apart where there is an option
# for null.
#
# A topic that is copied from one cluster to another with `kcat -C | kcat -P` has fewer records, and others behind the
# same offsets; with `-K:` and `-Z` on both sides an empty key goes to any partition.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kcat -V | grep -o 'Version 1\.7\.1'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: confluent-kafka==2.16.1
"$folder/python/bin/python" - <<'PYTHON'
import json
import subprocess

import confluent_kafka

# The broker is the one inside librdkafka that it has for tests.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())


def kcat(*arguments, lines=""):
    command = ["kcat", "-b", address, "-q", *arguments]
    return subprocess.run(command, input=lines, text=True, capture_output=True, check=True, timeout=60).stdout


def stored(topic):
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "g", "enable.partition.eof": True, "log_level": 0}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    records = []
    while not (message := consumer.poll(20)).error():
        records.append((message.key(), message.value()))
    consumer.close()
    return records


lines, keyed = "one\n\ntwo\n", "k:v\nk:\n:v\n"
for topic, options, text, expected in (
    ("plain", [], lines, [(None, b"one"), (None, b"two")]),
    ("plain-z", ["-Z"], lines, [(None, b"one"), (None, b"two")]),
    ("keyed", ["-K:"], keyed, [(b"k", b"v"), (b"k", b""), (b"", b"v")]),
    ("keyed-z", ["-K:", "-Z"], keyed, [(b"k", b"v"), (b"k", None), (None, b"v")]),
):
    mock.list_topics(topic, timeout=20)
    kcat("-P", "-t", topic, "-p", "0", *options, lines=text)
    seen = stored(topic)
    print("kcat -P", *options, repr(text), "sends", seen)
    assert seen == expected, seen

mock.list_topics("both", timeout=20)
for value in (b"", None, b"v"):
    mock.produce("both", value, partition=0)
assert mock.flush(20) == 0
for options, expected in (
    (["-f", r"[%s]\n"], ["[]", "[]", "[v]"]),
    (["-Z", "-f", r"[%s]\n"], ["[NULL]", "[NULL]", "[v]"]),
    (["-f", r"[%S]\n"], ["[0]", "[-1]", "[1]"]),
):
    seen = kcat("-C", "-t", "both", "-o", "beginning", "-e", *options).splitlines()
    print("kcat -C", *options, "prints", *seen)
    assert seen == expected, seen
seen = [json.loads(line)["payload"] for line in kcat("-C", "-t", "both", "-o", "beginning", "-e", "-J").splitlines()]
print("kcat -C -J has", seen)
assert seen == ["", None, "v"], seen
PYTHON
