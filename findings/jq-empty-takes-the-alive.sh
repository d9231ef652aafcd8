#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A list of devices, of which the dead ones are to be taken out: `(.[] | select(.status == 410)) |= empty`. jq 1.6 (that
# of Debian 12), of five devices of which the second and the fourth are dead, takes out the second and the fifth, which
# is alive, and keeps the fourth. Of four dead ones in a row it keeps the second and the fourth. There is no error. With
# one dead device it is right. jq 1.8.2 (in the package jq 1.13.0 of PyPI) is right in all, and so are both with
# `map(select(…))` and `del(.[] | select(…))`.
#
# It looks up all places first, and takes out one after the other, by which those that come later have moved.
#
# Guessed before it was run: all of the dead are taken out, or it is an error.
#
# Whoever tries it with one dead device finds it right; with more it goes on sending to the dead, and forgets the alive.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ "$(jq --version)" = jq-1.6 ]
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jq==1.13.0
"$folder/python/bin/python" - <<'PYTHON'
import json
import subprocess

import jq

ASSIGN = "(.[] | select(.status == 410)) |= empty"
OTHERS = ("map(select(.status != 410))", "del(.[] | select(.status == 410))")


def with_debian(program, devices):
    done = subprocess.run(["jq", "-c", program], input=json.dumps(devices), capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    return json.loads(done.stdout)


def with_package(program, devices):
    return jq.compile(program).input_value(devices).first()


for statuses, left in (
    ([200, 410, 200], [0, 2]),
    ([200, 410, 200, 410, 200], [0, 2, 3]),
    ([410, 410, 410, 410], [1, 3]),
    ([410, 200, 200, 410, 200, 200], [1, 2, 3, 5]),
):
    devices = [{"id": number, "status": status} for number, status in enumerate(statuses)]
    alive = [device for device in devices if device["status"] == 200]
    seen, newer = with_debian(ASSIGN, devices), with_package(ASSIGN, devices)
    print(f"{statuses}: jq 1.6 keeps", [d["id"] for d in seen], "and jq 1.8.2", [d["id"] for d in newer])
    assert seen == [devices[number] for number in left], seen
    assert newer == alive, newer
    for program in OTHERS:
        assert with_debian(program, devices) == with_package(program, devices) == alive, program
PYTHON
