#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# csvkit 2.2.0: a table of devices is sorted with `csvsort`, or joined to another with `csvjoin`. Besides the order,
# what is in the rows that come out:
#
# - The id 00042 is 42, and the id 1234E5 is 1.234E+8.
# - A user whose name is May is 0001-05-01, if the others of the column are months, too: April.
# - Quiet hours from 22:30 are 0:22:30, and f is False.
#
# With one more row, in which the id is a-7 and the name is Kim, all of these stay as they are. Joined by id with a
# table that has no such row, that table has no row in common with it: 00042 is not 42. `csvgrep`, `csvcut` and
# `csvstack` change nothing, and nothing changes with `-I` (`--no-inference`).
#
# What all of a column could be makes its type, for each file alone, and each value is written as one of that type.
#
# Guessed before it was run: to sort or to join moves rows, and does not touch what stands in them.
#
# Whoever sorts a list of receivers has other ids in it, which nobody has, or somebody else.
#
# Fails if it writes otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary csvkit==2.2.0 agate==1.14.2 \
  parsedatetime==2.6
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import subprocess
import sys

folder = sys.argv[1]
devices = "id,name,quiet,active\n00042,May,22:30,f\n1234E5,April,21:00,t\n"
more = devices + "a-7,Kim,never,maybe\n"
systems = "id,os\n00042,ios\n1234E5,ios\n"
for name, text in (("devices", devices), ("more", more), ("systems", systems)):
    with open(f"{folder}/{name}.csv", "w") as file:
        file.write(text)


def run(line):
    tool, *rest = line.split()
    line = [f"{folder}/python/bin/{tool}", *rest]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == "", done.stderr
    return done.stdout


changed = "id,name,quiet,active\n42,0001-05-01,0:22:30,False\n1.234E+8,0001-04-01,0:21:00,True\n"
ordered = "id,name,quiet,active\n00042,May,22:30,f\na-7,Kim,never,maybe\n1234E5,April,21:00,t\n"
joined = ["id,name,quiet,active,os\n", "00042,May,22:30,f,ios\n1234E5,April,21:00,t,ios\n"]
print(run("csvsort --version").strip())
for line, expected in (
    ("csvsort -c active devices.csv", changed),
    ("csvsort -c active more.csv", ordered),
    ("csvjoin -c id devices.csv systems.csv", changed.replace("\n", ",ios\n").replace("active,ios", "active,os")),
    ("csvjoin -c id more.csv systems.csv", joined[0]),
    ("csvjoin -I -c id more.csv systems.csv", joined[0] + joined[1]),
    ("csvsort -I -c active devices.csv", devices),
    ("csvgrep -c active -r . devices.csv", devices),
    ("csvcut -c id,name,quiet,active devices.csv", devices),
    ("csvstack devices.csv", devices),
):
    seen = run(line)
    print(f"  {line}:\n" + "".join(f"    {row}\n" for row in seen.splitlines()), end="")
    assert seen == expected, seen
PYTHON
