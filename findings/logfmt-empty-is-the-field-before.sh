#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A service logs each push in logfmt, with logfmter 0.0.12, and a job reads the lines with logfmt 0.4. What is read of a
# push whose field `reason` is empty or None, which is written as `reason=`:
#
# - `at=INFO msg=sent title=Sale reason=`: the reason is "Sale", the value of the field before it. With `msg` before it,
#   it is "sent".
# - `reason= title=Sale`, with another field after it: True.
# - A title of two lines, which is written as "Sale\ntoday" with an n: the title is True. So is each that has a
#   backslash and is in quotes, but for a quoted quote.
#
# A title with quotes, with =, or of two words is read as it was written.
#
# Guessed before it was run: one reads what the other writes, and what is empty is empty or None.
#
# Whoever counts the reasons of Apple's refusals so has one for each push that was taken, and the most frequent is that
# week's title.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: logfmter==0.0.12 logfmt==0.4
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import logging

import logfmt
import logfmter


def through(**fields):
    """What is read, and the line."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logfmter.Logfmter())
    log = logging.Logger("push")
    log.addHandler(handler)
    log.info("sent", extra=fields)
    line = stream.getvalue()
    assert line.startswith("at=INFO msg=sent ") and line.count("\n") == 1, line
    (read,) = logfmt.parse(io.StringIO(line))
    assert (read.pop("at"), read.pop("msg")) == ("INFO", "sent")
    return read, line.rstrip("\n").removeprefix("at=INFO msg=sent ")


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("logfmter", "logfmt")))
for fields, expected in (
    ({"title": "Sale", "reason": ""}, {"title": "Sale", "reason": "Sale"}),
    ({"title": "Sale", "reason": None}, {"title": "Sale", "reason": "Sale"}),
    ({"reason": ""}, {"reason": "sent"}),
    ({"reason": "", "title": "Sale"}, {"reason": True, "title": "Sale"}),
    ({"title": "Sale\ntoday"}, {"title": True}),
    ({"title": "C:\\new shop"}, {"title": True}),
):
    read, line = through(**fields)
    print(f"  {line}: {read}")
    assert read == expected, read
for title in ('Say "hi"', "1=1", "Big sale", "C:\\new"):
    assert through(title=title)[0] == {"title": title}
PYTHON
