#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A CSV of devices is turned into JSON with Miller 6.6.0 (that of Debian 12), `mlr --icsv --ojson cat`. An identifier
# 0x1f4e is written as it stands, without quotes, which is no JSON: jq and Python refuse the whole, and not the one
# line. So are 0b101, 0o17, .5 and 5. with a point and nothing behind it. 12e5 is a number in JSON, of 1,200,000, where
# it was a text of four characters. 007, 1_000, +7 and Inf are in quotes.
#
# What looks like a number to Miller is written as it came, so that no digit is lost; what is a number to Miller is
# more than is one to JSON.
#
# What one would guess: what a tool of such an age writes as JSON is JSON, and whatever is no number there is in quotes.
#
# Whoever loads the day's devices so, loads them each day until one has an identifier that begins with 0x. With `-S`
# all are texts.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export MLRRC=__none__ # no settings of the user
apt-get -q -o APT::Sandbox::User=root download miller > /dev/null # it needs the C library alone
dpkg-deb -x miller_*.deb .
./usr/bin/mlr --version | grep -x 'mlr 6\.6\.0'
python3 - <<'PYTHON'
import json
import re
import subprocess

tokens = ["0x1f4e", "0b101", "0o17", ".5", "5.", "12e5", "42", "1f4e0a", "007", "1_000", "+7", "Inf", "true"]
table = "token\n" + "\n".join(tokens) + "\n"


def run(*options):
    command = ["./usr/bin/mlr", "--icsv", "--ojsonl", *options, "cat"]
    lines = subprocess.run(command, input=table, capture_output=True, check=True, text=True).stdout.splitlines()
    return [re.fullmatch(r'\{"token": (.*)\}', line)[1] for line in lines]


def kind(written, token):
    try:
        value = json.loads(written)
    except ValueError:
        return "no JSON"
    return "text" if value == token else f"number, {value:.0f}"


seen = {token: kind(written, token) for token, written in zip(tokens, run(), strict=True)}
print(seen)
assert seen == {
    **dict.fromkeys(("0x1f4e", "0b101", "0o17", ".5", "5."), "no JSON"),
    "12e5": "number, 1200000",
    "42": "number, 42",
    **dict.fromkeys(("1f4e0a", "007", "1_000", "+7", "Inf", "true"), "text"),
}, seen
assert run("-S") == [json.dumps(token) for token in tokens]
PYTHON
