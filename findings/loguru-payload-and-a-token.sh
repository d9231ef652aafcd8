#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program logs the payload that it sends, a JSON text, with loguru 0.7.3. `logger.info(payload)` writes it. With a
# field beside it, `logger.info(payload, token=token)`, which loguru puts into the record, the call raises KeyError:
# '"aps"', in the program that sends. A text with a place for a name, "Hello {token}", is logged with the token in that
# place. With `logger.bind(token=token).info(payload)` each is as it was. structlog 26.1.0 takes all with a field.
#
# The message is a template if there is any argument, and braces in it are places.
#
# What one would guess: a field beside the message is data, and no log call raises an error, as none of `logging` does.
#
# The call is right in the tests, where the message is a word. In the field, the push is sent, and counts as failed.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: loguru==0.7.3 structlog==26.1.0
"$folder/python/bin/python" - <<'PYTHON'
import io
import json

import loguru
import structlog

written = io.StringIO()
loguru.logger.remove()
loguru.logger.add(written, format="{message}", catch=True)
structlog.configure(
    processors=[structlog.processors.JSONRenderer()], logger_factory=structlog.PrintLoggerFactory(written)
)


def last_line(call):
    try:
        call()
        return written.getvalue().splitlines()[-1]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


payload, text = json.dumps({"aps": {"badge": 1}}), "Hello {token}"
for message, with_a_field in (
    ("sent", "sent"),
    (payload, "KeyError: '\"aps\"'"),
    (text, "Hello ffee"),
):
    seen = (
        last_line(lambda: loguru.logger.info(message)),
        last_line(lambda: loguru.logger.info(message, token="ffee")),
        last_line(lambda: loguru.logger.bind(token="ffee").info(message)),
        json.loads(last_line(lambda: structlog.get_logger().info(message, token="ffee")))["event"],
    )
    print(f"{message}: alone {seen[0]}; with a field {seen[1]}; with bind {seen[2]}; structlog {seen[3]}")
    assert seen == (message, with_a_field, message, message), seen
PYTHON
