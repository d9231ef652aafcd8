#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A journal of systemd 252 (that of Debian 12), read with `journalctl --output json`. Of these MESSAGEs
#
# - one of 5,000 characters, as a line of JSON with a payload of APNs' 4,096 bytes in it, is `null`;
# - one of 4,000 is a string, and so is one with line ends, tabs and any letters;
# - "delivered" in green, as a program that thinks that it has a terminal writes it, is a list of numbers: [27, 91, …].
#
# With `--all` the first is a string, and the last is a list still. `--output cat` and `--output export` have all as
# they are. A field that was given twice is a list of two strings.
#
# Guessed before it was run: MESSAGE is a string with what was written, and is cut or escaped at most.
#
# Whoever ships the journal to a search, or counts with jq what became of pushes, has no line of a push that was
# refused with its payload: its MESSAGE is null, which `fromjson` refuses, and no text is found in it.
#
# Fails if it writes otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
journalctl --version | grep -m 1 '^systemd 252 '
apt-get -qq download systemd-journal-remote=252.* libmicrohttpd12 2> /dev/null
for file in *.deb; do dpkg -x "$file" remote; done
export LD_LIBRARY_PATH="$folder/remote/usr/lib/$(uname -m)-linux-gnu"
python3 - <<'PYTHON'
import json
import struct
import subprocess

messages = {
    "long": json.dumps({"payload": "x" * (5000 - 15)}),
    "short": json.dumps({"payload": "x" * (4000 - 15)}),
    "lines": "sent\n\tto Zoë ✓",
    "green": "\x1b[32mdelivered\x1b[0m",
}
assert len(messages["long"]) == 5000 and len(messages["short"]) == 4000
fixed = "_BOOT_ID=0123456789abcdef0123456789abcdef\nPRIORITY=6\nTOKEN=ab\nTOKEN=cd\n"
with open("pushes.export", "wb") as file:
    for index, message in enumerate(messages.values(), 1):
        text = message.encode()
        file.write(f"__REALTIME_TIMESTAMP={1795000000000000 + index}\n__MONOTONIC_TIMESTAMP={index}\n{fixed}".encode())
        file.write(b"MESSAGE\n" + struct.pack("<Q", len(text)) + text + b"\n\n")
remote = ["remote/lib/systemd/systemd-journal-remote", "--output=pushes.journal", "pushes.export"]
subprocess.run(remote, check=True, capture_output=True)


def read(*options):
    line = ["journalctl", "--file", "pushes.journal", "--no-pager", *options]
    return subprocess.run(line, check=True, capture_output=True).stdout


numbers = list(messages["green"].encode())
for options, long in (["--output", "json"], None), (["--output", "json", "--all"], messages["long"]):
    entries = [json.loads(line) for line in read(*options).splitlines()]
    seen = dict(zip(messages, (entry["MESSAGE"] for entry in entries), strict=True))
    print(" ".join(options), {name: str(value)[:24] for name, value in seen.items()})
    assert seen == messages | {"long": long, "green": numbers}, seen
    assert all(entry["TOKEN"] == ["ab", "cd"] for entry in entries)
assert read("--output", "cat").decode() == "".join(f"{message}\n" for message in messages.values())
assert all(message.encode() in read("--output", "export") for message in messages.values())
PYTHON
