#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Devices that were not seen since June are picked out of a JSON with JMESPath: [?last_seen < '2026-06-01'].token. Of
# three, of which one is such a device,
#
# - jmespath 1.1.0 of Python, which is the one that the command line of AWS has, returns that one;
# - `jp` 0.2.1 (that of Debian 12), the command of the same project, returns [], and ends with 0.
#
# So it is with > and >=. `sort_by(@, &last_seen)` has texts in order, and `==` compares them, in both. For the
# language's specification < is for numbers, and anything else is null, which is no.
#
# Guessed before it was run: two programs of one project, of which each is the language's example, have one result; or <
# of two texts is an error.
#
# Whoever has tried an expression in Python and puts it into a script with `jp` picks nobody, each time, and whoever
# removes all but those that it picks keeps nobody.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -q -o APT::Sandbox::User=root download jp > /dev/null # it needs the C library alone
dpkg-deb -x jp_*.deb .
./usr/bin/jp --version | grep -F '0.2.1'
python3 -m venv python
python/bin/pip -q install --disable-pip-version-check --only-binary :all: jmespath==1.1.0
python/bin/python - <<'PYTHON'
import json
import subprocess

import jmespath

days = {"a": "2026-01-15", "b": "2026-11-01", "c": "2026-11-29"}
devices = [{"token": token, "last_seen": day} for token, day in days.items()]
for expression, of_python, of_jp in (
    ("[?last_seen < '2026-06-01'].token", ["a"], []),
    ("[?last_seen >= '2026-06-01'].token", ["b", "c"], []),
    ("[?last_seen == '2026-11-01'].token", ["b"], ["b"]),
    ("sort_by(@, &last_seen)[-1].token", "c", "c"),
):
    command = ["./usr/bin/jp", expression]
    run = subprocess.run(command, input=json.dumps(devices), capture_output=True, text=True, check=True, timeout=60)
    seen = jmespath.search(expression, devices), json.loads(run.stdout)
    print(f"{expression}: {seen[0]} with jmespath {jmespath.__version__}, {seen[1]} with jp")
    assert seen == (of_python, of_jp) and run.stderr == "", (seen, run.stderr)
PYTHON
