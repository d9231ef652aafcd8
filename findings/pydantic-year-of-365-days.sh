#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pydantic 2.14.4 writes a timedelta of 365 days and more in JSON with a year, as P1Y, and 400 days as P1Y35D. It
# reads a year as 365 days. Others read it as a year, or not at all:
#
# - isodate 0.7.2: from 2028-01-01, 400 days are 401, since 2028 is a leap year. From 2026-01-01 they are 400.
# - msgspec 0.22.0 and `TimeDelta` of whenever 0.11.0 refuse it, as does Duration.parse of Java 17.
#
# A timedelta of 364 days, P364D, all but whenever take as it is. msgspec writes 400 days as P400D.
#
# What one would guess: a timedelta has no years, so the text of it has none: P400D, or PT9600H.
#
# Whoever gives a time to live or to keep so, in JSON, to another program loses a day, or the record is refused, from
# one year on.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
java -version 2>&1 | grep -q '"17\.'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pydantic==2.14.4 isodate==0.7.2 \
  msgspec==0.22.0 whenever==0.11.0
cat > "$folder/Read.java" <<'JAVA'
class Read {
  public static void main(String[] texts) {
    for (String text : texts) {
      try {
        System.out.println(java.time.Duration.parse(text).toDays());
      } catch (java.time.format.DateTimeParseException error) {
        System.out.println("refused");
      }
    }
  }
}
JAVA
java "$folder/Read.java" P364D P1Y P1Y35D > "$folder/java"
"$folder/python/bin/python" - "$folder/java" <<'PYTHON'
import sys
from datetime import datetime, timedelta

import isodate
import msgspec
import pydantic
import whenever

seconds = pydantic.TypeAdapter(timedelta)
with open(sys.argv[1]) as file:
    by_java = file.read().split()


def days(function, text):
    try:
        return str(function(text) // timedelta(days=1))
    except ValueError:
        return "refused"


def from_year(year):
    return lambda text: datetime(year, 1, 1) + isodate.parse_duration(text) - datetime(year, 1, 1)


readers = {
    "pydantic": seconds.validate_json,
    "isodate from 2026": lambda text: from_year(2026)(text.strip('"')),
    "isodate from 2028": lambda text: from_year(2028)(text.strip('"')),
    "msgspec": lambda text: msgspec.json.decode(text, type=timedelta),
    "whenever": lambda text: whenever.TimeDelta.parse_iso(text.strip('"')).py_timedelta(),
}
for number, written, java, expected in (
    (364, "P364D", by_java[0], ["364", "364", "364", "364", "refused", "364"]),
    (365, "P1Y", by_java[1], ["365", "365", "366", "refused", "refused", "refused"]),
    (400, "P1Y35D", by_java[2], ["400", "400", "401", "refused", "refused", "refused"]),
):
    text = seconds.dump_json(timedelta(days=number)).decode()
    seen = {name: days(reader, text) for name, reader in readers.items()} | {"Java": java}
    other = msgspec.json.encode(timedelta(days=number)).decode()
    print(f"{number} days: pydantic writes {text}, msgspec {other}; days of the former:", seen)
    assert text == f'"{written}"' and other == f'"P{number}D"' and list(seen.values()) == expected, seen
PYTHON
