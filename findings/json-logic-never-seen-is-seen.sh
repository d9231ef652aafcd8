#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is for devices that were seen within 30 days, a rule of JsonLogic: {"<": [{"var": "days"}, 30]}. What two
# implementations in Python, both of which are imported as `json_logic`, say of a device without `days`:
#
# - panzi-json-logic 1.0.1: yes. So with <= 0, and it has {"==": [{"var": "days"}, 0]} for true as well.
# - json-logic-qubit 0.9.1: no, of each of the three.
#
# Of "9", a text, < 30 is true in both, and "10.1" > "9.0" is false in both. The language comes from JavaScript, in
# which null is less than 30, and null == 0 is false: each of the two is right in part. json-logic 0.6.3, the first of
# the name, fails at each rule with TypeError.
#
# Guessed before it was run: two libraries of one rule language choose the same devices, and one that has no number is
# not less than another.
#
# Whoever goes from one to the other, for which `import` and rule stay, sends to all devices of which nothing is known;
# or stops to send to them.
#
# Fails if one of them does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

look() { # a package, its version, and what it says of the device without a number
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" -q install --disable-pip-version-check --only-binary :all: "$1==$2"
  "$folder/$1/bin/python" - "$@" <<'PYTHON'
import sys

import json_logic

name, version, expected = sys.argv[1:]
decide = getattr(json_logic, "jsonLogic", None) or json_logic.json_logic
days = {"var": "days"}
rules = [{"<": [days, 30]}, {"<=": [days, 0]}, {"==": [days, 0]}]
if expected == "TypeError":
    try:
        decide(rules[0], {"days": 9})
        raise SystemExit(f"{name} has an answer")
    except TypeError as error:
        print(f"{name} {version}: {error}")
    raise SystemExit
seen = [decide(rule, {"language": "de"}) for rule in rules]
print(f"{name} {version}: without days {seen}")
assert seen == [expected == "True"] * 3, seen
assert [decide(rule, {"days": 9}) for rule in rules] == [True, False, False]
assert [decide(rule, {"days": 0}) for rule in rules] == [True] * 3
assert decide(rules[0], {"days": "9"}) is True
assert decide({">": [{"var": "version"}, "9.0"]}, {"version": "10.1"}) is False
PYTHON
}

look panzi-json-logic 1.0.1 True
look json-logic-qubit 0.9.1 False
look json-logic 0.6.3 TypeError
