#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A test sends a push to three devices, and looks whom the server has seen, in any order. It has seen a device twice.
# What says that this is what was to be:
#
# - deepdiff 9.1.0: `DeepDiff(seen, expected, ignore_order=True)` is {}, no difference, for two pushes to 0a and one to
#   each of the others. So it is for [0a, 0a, 0b] and [0a, 0b, 0b], of which one has another device twice, and for
#   objects with a token as for tokens. With `report_repetition=True` it has the difference.
# - PyHamcrest 2.1.0: `only_contains("0a", "0b", "0c")` passes, and it passes if one of the three was not seen at all.
#   Its `contains_inanyorder` fails, as it should.
#
# Guessed before it was run: to ignore the order is to compare as multisets do.
#
# Whoever tests so that nobody has a push twice has a test that passes if somebody has.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: deepdiff==9.1.0 pyhamcrest==2.1.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import deepdiff
import hamcrest

WANTED = ["0a", "0b", "0c"]
TWICE = ["0c", "0a", "0b", "0a"]


def passes(check):
    try:
        check()
    except AssertionError:
        return False
    return True


def pushes(tokens):
    return [{"token": token, "alert": {"title": "Your order"}} for token in tokens]


seen = {
    "deepdiff, a device twice": not deepdiff.DeepDiff(TWICE, WANTED, ignore_order=True),
    "deepdiff, another twice": not deepdiff.DeepDiff(["0a", "0a", "0b"], ["0a", "0b", "0b"], ignore_order=True),
    "deepdiff, objects": not deepdiff.DeepDiff(pushes(TWICE), pushes(WANTED), ignore_order=True),
    "hamcrest": passes(lambda: hamcrest.assert_that(TWICE, hamcrest.only_contains(*WANTED))),
    "hamcrest, one is missing": passes(lambda: hamcrest.assert_that(["0a", "0a"], hamcrest.only_contains(*WANTED))),
}
for name in ("deepdiff", "pyhamcrest"):
    print(name, importlib.metadata.version(name), end="; ")
print(seen)
assert all(seen.values()), seen
assert deepdiff.DeepDiff(TWICE, WANTED, ignore_order=True, report_repetition=True)
assert not passes(lambda: hamcrest.assert_that(TWICE, hamcrest.contains_inanyorder(*WANTED)))
assert deepdiff.DeepDiff(["0a", "0b"], WANTED, ignore_order=True)
PYTHON
