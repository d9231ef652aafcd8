#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is logged with Python's `logging`, `logger.info("sent", extra={"id": …, "token": …})`, and goes on to a log
# server in JSON. `token` is in what is written, and `id` is not, without a word, with python-logstash 0.4.8 (versions 0
# and 1 of its format), python-logstash-async 4.1.0, graypy 2.1.0 and pygelf 0.4.3. ecs-logging 2.3.0 and
# python-json-logger 4.2.0 have both.
#
# Graylog's format (GELF) does not allow a field `_id`. Logstash's has no such rule; the list of names that these leave
# out, as Python's records have them already, has `id` in it as well, which a record does not have.
#
# What one would guess: an `extra` that Python itself takes is either written or written under another name; Python
# raises an error for names that a record has.
#
# Whoever looks for a push in the log by the id that the caller was given finds nothing, and takes it for never sent.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary python-logstash==0.4.8 \
  python-logstash-async==4.1.0 graypy==2.1.0 pygelf==0.4.3 ecs-logging==2.3.0 python-json-logger==4.2.0
"$folder/python/bin/python" - <<'PYTHON'
import json
import logging
import socket
import zlib

import ecs_logging
import graypy
import logstash.formatter
import logstash_async.formatter
import pygelf
import pythonjsonlogger.json

extra = {"id": "0a1b-2c3d", "token": "ffee"}
logger = logging.getLogger("pushes")
logger.setLevel(logging.INFO)
logger.propagate = False


class Kept(logging.Handler):
    def emit(self, record):
        text = self.format(record)
        self.text = text if isinstance(text, str) else text.decode()


def with_formatter(formatter):
    handler = Kept()
    handler.setFormatter(formatter)
    logger.addHandler(handler)
    logger.info("sent", extra=extra)
    logger.removeHandler(handler)
    return handler.text


def over_udp(make):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(20)
    handler = make(receiver.getsockname()[1])
    logger.addHandler(handler)
    logger.info("sent", extra=extra)
    logger.removeHandler(handler)
    return zlib.decompress(receiver.recv(65535)).decode()


for name, text, expected in (
    ("python-logstash, 0", with_formatter(logstash.formatter.LogstashFormatterVersion0()), ["token"]),
    ("python-logstash, 1", with_formatter(logstash.formatter.LogstashFormatterVersion1()), ["token"]),
    ("python-logstash-async", with_formatter(logstash_async.formatter.LogstashFormatter()), ["token"]),
    ("graypy", over_udp(lambda port: graypy.GELFUDPHandler("127.0.0.1", port)), ["token"]),
    (
        "pygelf",
        over_udp(lambda port: pygelf.GelfUdpHandler(host="127.0.0.1", port=port, include_extra_fields=True)),
        ["token"],
    ),
    ("ecs-logging", with_formatter(ecs_logging.StdlibFormatter()), ["id", "token"]),
    ("python-json-logger", with_formatter(pythonjsonlogger.json.JsonFormatter()), ["id", "token"]),
):
    json.loads(text)
    seen = [key for key, value in extra.items() if value in text]
    print(f"{name}: of id and token, written: {seen}")
    assert seen == expected, text
PYTHON
