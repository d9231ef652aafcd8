#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program logs each payload that it sends, of which APNs allows 4,096 bytes, to systemd's journal, and another reads
# it with `journalctl -o json`, systemd 252 (that of Debian 12). A message of 4,087 bytes is there. One of 4,088 and
# more is null: {"MESSAGE": null}, with no error. So is each other field, by the length of its name: one named TOKEN
# ends at 4,089. `-o cat`, `-o export` and `-o short-full` have it whole, and so has `-o json --all`.
#
# The limit is for the name, the sign = and the value: less than 4,096 bytes.
#
# What one would guess: JSON for programs has all that the journal has, and it is the forms for people that shorten.
#
# Whoever feeds a log server so has the small pushes, and of the largest, which one looks for if they are refused as
# too large, a line without a text.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
journalctl --version | grep -o '^systemd 252'
# systemd-journal-remote writes a journal's file of what it is given; it needs libmicrohttpd.
apt-get -q -o APT::Sandbox::User=root download systemd-journal-remote libmicrohttpd12 > /dev/null
for package in ./*.deb; do
  dpkg-deb -x "$package" .
done
python3 > pushes.export <<'PYTHON'
for length in (1000, 4086, 4087, 4088, 4089, 4090, 4096, 8000):
    print("__REALTIME_TIMESTAMP=1795000000000000\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID=" + "01" * 16)
    print(f"MESSAGE={'m' * length}\nTOKEN={'f' * length}\nLENGTH={length}\n")
PYTHON
LD_LIBRARY_PATH=$(dirname usr/lib/*/libmicrohttpd.so.12) ./lib/systemd/systemd-journal-remote \
  -o pushes.journal pushes.export > said 2>&1
python3 <<'PYTHON'
import json
import subprocess


def read(*options):
    command = ["journalctl", "--file", "pushes.journal", "--no-pager", "--quiet", *options]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


for options, of_message, of_token in (((), 4087, 4089), (("--all",), 8000, 8000)):
    for entry in map(json.loads, read("-o", "json", *options)):
        length = int(entry["LENGTH"])
        seen = [None if entry[name] is None else len(entry[name]) for name in ("MESSAGE", "TOKEN")]
        print(" ".join(("-o json", *options)), f"of {length} bytes: MESSAGE {seen[0]}, TOKEN {seen[1]}")
        assert seen == [length if length <= limit else None for limit in (of_message, of_token)], seen
lengths = [len(line) for line in read("-o", "cat")]
print("-o cat:", lengths)
assert lengths == [1000, 4086, 4087, 4088, 4089, 4090, 4096, 8000], lengths
assert max(map(len, read("-o", "export"))) == len("MESSAGE=") + 8000
assert max(map(len, read("-o", "short-full"))) > 8000
PYTHON
