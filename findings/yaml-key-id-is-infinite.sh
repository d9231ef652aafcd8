#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PyYAML 6.0.4 and ruamel.yaml 0.19.1 each write a text without quotes, if they would read it as a text themselves. The
# other reads some of those as numbers:
#
# - The key id 1234E56789, of ten characters as Apple's are: PyYAML writes `kid: 1234E56789`, and ruamel.yaml reads
#   infinity. 0123456789 loses its zero so.
# - Quiet hours from "22:30": ruamel.yaml writes `from: 22:30`, and PyYAML reads 1350.
#
# PyYAML follows YAML 1.1, for which a float has a point and 22:30 is of base 60; ruamel.yaml follows 1.2, which has
# neither.
#
# Guessed before it was run: what one library writes of a text the other reads as that text.
#
# Whoever has one program write the settings, and another read them, signs with a key id that APNs does not know, or
# compares a time with a number: for some keys, and for some hours.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pyyaml==6.0.4 ruamel.yaml==0.19.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import io

import ruamel.yaml
import yaml

print(*(f"{name} {importlib.metadata.version(name)};" for name in ("pyyaml", "ruamel.yaml")))


def with_ruamel(value):
    file = io.StringIO()
    ruamel.yaml.YAML().dump(value, file)
    return file.getvalue()


for text, first, second in (
    ("1234E56789", float("inf"), "1234E56789"),
    ("0123456789", 123456789, "0123456789"),
    ("AB12CD34EF", "AB12CD34EF", "AB12CD34EF"),
    ("22:30", "22:30", 1350),
    ("on", "on", True),
):
    by_yaml, by_ruamel = yaml.safe_dump({"value": text}).strip(), with_ruamel({"value": text}).strip()
    own = yaml.safe_load(by_yaml)["value"], ruamel.yaml.YAML().load(by_ruamel)["value"]
    other = ruamel.yaml.YAML().load(by_yaml)["value"], yaml.safe_load(by_ruamel)["value"]
    print(f"  PyYAML writes {by_yaml!r}: ruamel.yaml reads {other[0]!r};", end=" ")
    print(f"ruamel.yaml writes {by_ruamel!r}: PyYAML reads {other[1]!r}")
    assert own == (text, text) and other == (first, second), (own, other)
PYTHON
