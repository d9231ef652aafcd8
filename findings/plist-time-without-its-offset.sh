#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A time with an offset, noon at +05:30, which is 06:30 in UTC, is written into a property list (a profile, or a command
# of MDM, which a push wakes a device to fetch). A `<date>` is in UTC. What plistlib of Python 3.11 writes:
#
# - XML, which is its default: `<date>2026-11-29T12:00:00Z</date>`. The Z stands behind the time of the wall, with no
#   error. Read again it is noon, without an offset.
# - Binary: TypeError, "can't subtract offset-naive and offset-aware datetimes".
#
# With a time in UTC the XML is right, and the binary is the same error. plistutil of libplist 2.2.0 makes a binary list
# of the XML, in which it is noon in UTC: the offset is lost for good.
#
# Guessed before it was run: a library that writes a Z converts to UTC first, or refuses what it would not convert, and
# both forms hold the same.
#
# Whoever sets a date on which a profile goes away (`RemovalDate`), or a deadline of an update, in local time has it
# hours early or late, and sees it right on a server that is in UTC.
#
# Fails if it writes otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 --version | grep '^Python 3\.11\.'
(cd "$folder" && apt-get -qq download libplist-utils=2.2.0* 2> /dev/null &&
  apt-get -qq download libplist3=2.2.0* 2> /dev/null && for file in libplist*.deb; do dpkg -x "$file" libplist; done)
export LD_LIBRARY_PATH="$folder/libplist/usr/lib/$(uname -m)-linux-gnu"
python3 - "$folder" <<'PYTHON'
import datetime
import pathlib
import plistlib
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
noon = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
utc = noon.astimezone(datetime.timezone.utc)

for time, written in ((noon, b"2026-11-29T12:00:00Z"), (utc, b"2026-11-29T06:30:00Z")):
    text = plistlib.dumps({"RemovalDate": time})
    assert b"<date>" + written + b"</date>" in text, text
    read = plistlib.loads(text)["RemovalDate"]
    print(f"{time}: written as {written.decode()}, read as {read}")
    assert read == time.replace(tzinfo=None), read
    try:
        plistlib.dumps({"RemovalDate": time}, fmt=plistlib.FMT_BINARY)
        raise SystemExit("the binary form takes it")
    except TypeError as error:
        print(f"  binary: {error}")
        assert str(error) == "can't subtract offset-naive and offset-aware datetimes", error

(folder / "noon.plist").write_bytes(plistlib.dumps({"RemovalDate": noon}))
tool = folder / "libplist/usr/bin/plistutil"
subprocess.run([tool, "-i", folder / "noon.plist", "-o", folder / "noon.bin"], check=True)
binary = (folder / "noon.bin").read_bytes()
assert binary.startswith(b"bplist00")
read = plistlib.loads(binary)["RemovalDate"]
print(f"by way of plistutil: {read}")
assert read == noon.replace(tzinfo=None), read
PYTHON
