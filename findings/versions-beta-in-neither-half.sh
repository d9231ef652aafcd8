#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An app's version says which text a device gets: `<10.0.0` the old, `>=10.0.0` the new. A tester has 10.0.0-beta.1. In
# which of the two it is:
#
# - packaging 26.4, `SpecifierSet(…).contains(version)`: in neither, with `prereleases=True` as well, though `Version`
#   has it below 10.0.0.
# - semantic-version 2.10.0, `SimpleSpec`: in neither. `NpmSpec` of the same package: in the first.
# - semver 3.1.2, `match`: in the first.
#
# 9.4.0 is in the first, and 10.0.0 in the second, by all.
#
# Guessed before it was run: in the first by all; a version that is not below a number is at or above it.
#
# Whoever has two halves of all devices has a third one in no half, of those who try what is new, and no error.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: packaging==26.4 semver==3.1.2 \
  semantic-version==2.10.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import packaging.specifiers
import packaging.version
import semantic_version
import semver

HALVES = ("<10.0.0", ">=10.0.0")
libraries = {
    "packaging": lambda half, version: packaging.specifiers.SpecifierSet(half).contains(version),
    "packaging, prereleases": lambda half, version: packaging.specifiers.SpecifierSet(half).contains(
        version, prereleases=True),
    "semantic-version": lambda half, version: semantic_version.SimpleSpec(half).match(
        semantic_version.Version(version)),
    "semantic-version, npm": lambda half, version: semantic_version.NpmSpec(half).match(
        semantic_version.Version(version)),
    "semver": lambda half, version: semver.Version.parse(version).match(half),
}
NEITHER, FIRST, SECOND = [False, False], [True, False], [False, True]
for name, is_in in libraries.items():
    seen = [[is_in(half, version) for half in HALVES] for version in ("9.4.0", "10.0.0-beta.1", "10.0.0")]
    print(f"{name}, {importlib.metadata.version(name.split(',')[0])}: {seen}")
    beta = FIRST if name in ("semver", "semantic-version, npm") else NEITHER
    assert seen == [FIRST, beta, SECOND], seen
assert packaging.version.Version("10.0.0-beta.1") < packaging.version.Version("10.0.0")
PYTHON
