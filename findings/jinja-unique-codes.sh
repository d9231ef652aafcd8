#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A campaign gives each device a code of letters and digits, as short identifiers are. A template of Jinja 3.1.6 lists
# those of kQ7x, Kq7X and b2, which are three:
#
# - `codes | unique`: kQ7x and b2. Kq7X is left out. So it is with `unique(attribute="code")`.
# - `devices | groupby("code")`: two groups, of which one has two devices.
# - `unique(case_sensitive=true)` and `groupby("code", case_sensitive=true)` have three.
# - `sort` goes by letters without their case, too. `"kQ7x" == "Kq7X"` and `in` do not.
#
# Guessed before it was run: two texts are the same for `unique` and `groupby` if they are for `==`.
#
# Whoever makes queries or lists of recipients with templates, as many tools for data and configuration do, leaves
# somebody out, or has one's devices with another's.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: jinja2==3.1.6
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import jinja2

CODES = ["kQ7x", "Kq7X", "b2"]
devices = [{"code": code} for code in CODES]
environment = jinja2.Environment()
print(f"Jinja {importlib.metadata.version('jinja2')}:")
GROUP = "{{% for code, group in devices | groupby({}) %}}{{{{ code }}}}={{{{ group | length }}}} {{% endfor %}}"
for template, expected in (
    ("{{ codes | unique | join(' ') }}", "kQ7x b2"),
    ("{{ devices | unique(attribute='code') | map(attribute='code') | join(' ') }}", "kQ7x b2"),
    (GROUP.format("'code'"), "b2=1 kQ7x=2 "),
    ("{{ codes | unique(case_sensitive=true) | join(' ') }}", "kQ7x Kq7X b2"),
    (GROUP.format("'code', case_sensitive=true"), "Kq7X=1 b2=1 kQ7x=1 "),
    ("{{ ['a', 'B', 'C'] | sort | join(' ') }}", "a B C"),
    ("{{ 'kQ7x' == 'Kq7X' }} {{ 'kQ7X' in codes }}", "False False"),
):
    written = environment.from_string(template).render(codes=CODES, devices=devices)
    print(f"  {template}: {written}")
    assert written == expected, written
PYTHON
