#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# uuid7 0.1.0 makes UUIDs of version 7 that are none as RFC 9562 has them, with milliseconds since 1970 in the first 48
# bits: it has 36 bits of seconds, and then fractions of a second, as an early draft had.
#
# - uuid-utils 1.2.0 and uuid6 2025.0.1 read the time of one of November 2026 as one of February 2203.
# - uuid7 reads the time of one of theirs as one of November 1983 (`uuid_to_datetime`).
# - One that it makes now sorts after each that the others make in the next 176 years.
#
# The version's digit is 7 in both, and each reader takes the other's without an error.
#
# Guessed before it was run: what says version 7 begins with the milliseconds, and libraries read each other's.
#
# Whoever gives pushes such an `apns-id`, and has another service find the day of one, or the last 100, by it, has the
# wrong ones as soon as one of two programs uses the other library.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: uuid7==0.1.0 uuid-utils==1.2.0 \
  uuid6==2025.0.1
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import time
import uuid

import uuid6
import uuid_extensions
import uuid_utils

utc = datetime.timezone.utc
moment = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=utc)
nanoseconds = int(moment.timestamp()) * 1_000_000_000
by_draft = uuid_extensions.uuid7(ns=nanoseconds)
by_rfc = uuid.UUID(str(uuid_utils.uuid7(nanoseconds=nanoseconds)))
assert by_draft.version == by_rfc.version == 7


def with_uuid_utils(value):
    return datetime.datetime.fromtimestamp(uuid_utils.UUID(str(value)).timestamp / 1000, utc)


def with_uuid6(value):
    return datetime.datetime.fromtimestamp(uuid6.UUID(str(value)).time / 1000, utc)


for maker, value, expected in (
    ("uuid7", by_draft, {"uuid7": "2026-11", "uuid_utils": "2203-02", "uuid6": "2203-02"}),
    ("uuid_utils", by_rfc, {"uuid7": "1983-11", "uuid_utils": "2026-11", "uuid6": "2026-11"}),
):
    seen = {
        "uuid7": uuid_extensions.uuid_to_datetime(value),
        "uuid_utils": with_uuid_utils(value),
        "uuid6": with_uuid6(value),
    }
    print(f"{maker} makes {value} at {moment};", *(f"{name} reads {when:%Y-%m-%d};" for name, when in seen.items()))
    assert {name: f"{when:%Y-%m}" for name, when in seen.items()} == expected, seen

now = uuid_extensions.uuid7()
next_century = uuid_utils.uuid7(nanoseconds=time.time_ns() + 100 * 365 * 86400 * 1_000_000_000)
print(f"of uuid7, now: {now}; of uuid_utils, in a hundred years: {next_century}")
assert str(now) > str(next_century)
PYTHON
