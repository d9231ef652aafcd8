#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The W3C's header `baggage` with a plus sign, which it may have as it stands: `baggage: offset=+05:30`. Of that
# opentelemetry-api 1.45.2 reads the offset "05:30", and hands it on as `offset=05%3A30`. +491700000 becomes 491700000,
# and "a+b" becomes "a b". sentry-sdk 2.75.0 reads the same header as it stands.
#
# The other way it is the same: a value with a blank is sent with a plus sign for it, where the W3C has %20, and is
# "Hello+World" for sentry-sdk. What opentelemetry itself has sent, it reads right.
#
# It takes values for those of an HTML form, in which a plus sign is a blank, and cuts blanks at both ends.
#
# Guessed before it was run: only %XX is decoded, since the header is encoded so.
#
# Whoever hands on a user's offset, or telephone number, in baggage from one language to another, pushes at another
# hour, or asks for another number, in what Python does.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: opentelemetry-api==1.45.2 \
  sentry-sdk==2.75.0
"$folder/python/bin/python" - <<'PYTHON'
import urllib.parse

from opentelemetry import baggage
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from sentry_sdk.tracing_utils import Baggage

propagator = W3CBaggagePropagator()


def with_opentelemetry(header):
    return dict(baggage.get_all(propagator.extract({"baggage": header})))


def with_sentry(header):
    """sentry-sdk decodes what bears its own name in front."""
    return dict(Baggage.from_incoming_header(f"sentry-{header}").sentry_items)


def handed_on(header):
    carrier = {}
    propagator.inject(carrier, propagator.extract({"baggage": header}))
    return carrier["baggage"]


for header, plain, sent in (
    ("offset=+05:30", "05:30", "offset=05%3A30"),
    ("phone=+491700000", "491700000", "phone=491700000"),
    ("title=a+b", "a b", "title=a+b"),
    ("offset=%2B05:30", "+05:30", "offset=%2B05%3A30"),
    ("title=Hello%20World", "Hello World", "title=Hello+World"),
):
    name, value = header.split("=")
    others = urllib.parse.unquote(value)
    seen = with_opentelemetry(header), with_sentry(header), handed_on(header)
    print(f"{header}: opentelemetry {seen[0]}, sentry-sdk {seen[1]}; opentelemetry hands on {seen[2]}")
    assert seen == ({name: plain}, {name: others}, sent), seen

carrier = {}
propagator.inject(carrier, baggage.set_baggage("title", "Hello World"))
seen = with_sentry(carrier["baggage"]), with_opentelemetry(carrier["baggage"])
print(f"opentelemetry sends {carrier['baggage']}: sentry-sdk {seen[0]}, opentelemetry {seen[1]}")
assert seen == ({"title": "Hello+World"}, {"title": "Hello World"}), seen
PYTHON
