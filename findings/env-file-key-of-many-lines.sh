#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A file of variables for a service, with its key in several lines between quotes, and what else is in such files. What
# bash (`set -a; . file`), Node.js 20.20.2 (`--env-file`), python-dotenv 1.2.4, django-environ 0.14.0 and
# python-decouple 3.8 read:
#
#                           bash        Node.js     python-dotenv  django-environ         python-decouple
# - KEY="-----BEGIN … END"  the lines   the lines   the lines      "-----BEGIN            "-----BEGIN
# - PASSWORD=a#b            a#b         a           a#b            a#b                    a#b
# - SALT=a #b               a           a           a              a #b                   a #b
# - SECRET=$ab              (empty)     $ab         $ab            ImproperlyConfigured   $ab
# - NOTE="a" # what         a           a           a              "a" # what             "a" # what
# - export TOPIC=x          x           x           x              x                      (none)
#
# Of the key the last two have the first line with its quote. django-environ logs "Invalid line" for each of the others,
# and python-decouple says nothing. For django-environ a value that begins with `$` is another variable's name.
#
# Guessed before it was run: what is between quotes is read alike, lines included, and one file is the same for all but
# for what is in variables within values.
#
# Whoever moves a service from one to the other with its file has a key that is none, or a password without its end, and
# looks for the fault at the gateway.
#
# Fails if a reader answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nodejs --version | grep -x 'v20\.20\.2'
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: python-dotenv==1.2.4 \
  django-environ==0.14.0 python-decouple==3.8
cat > "$folder/service.env" << 'FILE'
KEY="-----BEGIN PRIVATE KEY-----
MIGHAgEA
-----END PRIVATE KEY-----"
PASSWORD=a#b
SALT=a #b
SECRET=$ab
NOTE="a" # what
export TOPIC=x
FILE
"$folder/python/bin/python" - "$folder/service.env" <<'PYTHON'
import json
import os
import subprocess
import sys

import decouple
import dotenv
import environ

file = sys.argv[1]
names = ["KEY", "PASSWORD", "SALT", "SECRET", "NOTE", "TOPIC"]
clean = {name: value for name, value in os.environ.items() if name not in [*names, "ab"]}


def by_bash():
    tell = "import json, os; print(json.dumps(dict(os.environ)))"
    line = ["bash", "-c", 'set -a; . "$0"; exec python3 -c "$1"', file, tell]
    return json.loads(subprocess.run(line, env=clean, capture_output=True, text=True, check=True).stdout)


def by_node():
    line = ["nodejs", f"--env-file={file}", "-e", "console.log(JSON.stringify(process.env))"]
    return json.loads(subprocess.run(line, env=clean, capture_output=True, text=True, check=True).stdout)


def by_django_environ():
    environ.Env.read_env(file, overwrite=True)
    read = {}
    for name in names:
        try:
            read[name] = environ.Env().str(name)
        except environ.ImproperlyConfigured as error:
            read[name] = type(error)
    return read


lines = "-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----"
first = '"-----BEGIN PRIVATE KEY-----'
note = '"a" # what'
expected = {
    "bash": (by_bash, [lines, "a#b", "a", "", "a", "x"]),
    "Node.js": (by_node, [lines, "a", "a", "$ab", "a", "x"]),
    "python-dotenv": (lambda: dotenv.dotenv_values(file), [lines, "a#b", "a", "$ab", "a", "x"]),
    "django-environ": (by_django_environ, [first, "a#b", "a #b", environ.ImproperlyConfigured, note, "x"]),
    "python-decouple": (lambda: decouple.RepositoryEnv(file).data, [first, "a#b", "a #b", "$ab", note, None]),
}
os.environ.pop("ab", None)
for reader, (read, values) in expected.items():
    found = read()
    seen = [found.get(name) for name in names]
    print(f"{reader}: {seen}")
    assert seen == values, (reader, values)
PYTHON
