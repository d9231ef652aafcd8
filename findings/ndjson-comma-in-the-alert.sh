#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push whose text has a line separator (U+2028, as editors of text put into it), which JSON allows in a text as it is,
# and JavaScript's JSON.stringify, jq and others write so: one line, {"alert":"Train 7<U+2028>Platform 3"}.
#
# - ndjson 0.3.1, `loads` and `load`: the text is "Train 7,Platform 3", without an error.
# - httpx 0.28.1, `iter_lines` of an answer of such lines: two lines, each with half of the push.
# - `ndjson.reader`, jsonlines 4.0.0, polars 2.1.0 and `iter_lines` of requests 2.34.2: the text as it is.
#
# So it is with U+0085 and U+2029. The first two split with `splitlines` of Python, which splits at eight characters
# more than those that end a line in such files. ndjson then puts commas between the pieces, and reads it as one list.
#
# Guessed before it was run, of ndjson: a line ends at a line feed; or it is an error.
#
# Whoever reads pushes so sends texts with a comma that nobody has written; with httpx the lines are no JSON.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: ndjson==0.3.1 jsonlines==4.0.0 \
  httpx==0.28.1 requests==2.34.2 polars==2.1.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import io
import json

import httpx
import jsonlines
import ndjson
import polars
import requests

names = ("ndjson", "httpx", "jsonlines", "polars", "requests")
print(*(f"{name} {importlib.metadata.version(name)};" for name in names))
for separator in ("\u2028", "\u2029", "\x85"):
    push = {"alert": f"Train 7{separator}Platform 3"}
    text = json.dumps(push, ensure_ascii=False) + "\n" + '{"alert":"Gate 5"}\n'
    assert text.count("\n") == 2 and separator in text

    answer = requests.Response()
    answer.raw, answer.status_code = io.BytesIO(text.encode()), 200
    with_httpx = list(httpx.Response(200, content=text.encode()).iter_lines())
    with_ndjson = ndjson.loads(text)
    others = (
        list(ndjson.reader(io.StringIO(text))),
        list(jsonlines.Reader(io.StringIO(text))),
        polars.read_ndjson(text.encode()).to_dicts(),
        [json.loads(line) for line in answer.iter_lines()],
    )
    print(f"  {push}: ndjson {with_ndjson[0]}; httpx {with_httpx[:-1]}; the others {others[0][0]}")
    assert with_ndjson == ndjson.load(io.StringIO(text)) == [{"alert": "Train 7,Platform 3"}, {"alert": "Gate 5"}]
    assert with_httpx == ['{"alert": "Train 7', 'Platform 3"}', '{"alert":"Gate 5"}'], with_httpx
    assert all(other == [push, {"alert": "Gate 5"}] for other in others), others
PYTHON
