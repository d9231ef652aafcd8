#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program tells people something with apprise 2.3.0, which it has told of three: Anna and Ben, who have each their
# tag, and a channel for all, which has none. It calls `notify(body, tag=…)` with a list of those whom it concerns:
#
# - ["anna"]: Anna. ["anna", "ben"]: both. ["nobody"], a tag that none of them has: nobody.
# - []: the channel for all. So it is with None and "".
# - ["anna", ""]: Anna and the channel for all.
# - ["anna,ben"]: nobody. "anna,ben", not in a list: both.
# - ["ANNA"]: Anna.
#
# Guessed before it was run: an empty list is nobody, as it is of a list with a tag that nobody has.
#
# Whoever picks whom a message about a person concerns, and finds nobody, tells it to everybody who listens to all.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: apprise==2.3.0
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import logging

import apprise
from apprise.decorators import notify

logging.disable(logging.CRITICAL)
told = []


@notify(on="recorder")
def record(body, title, notify_type, meta=None, *arguments, **options):
    told.append(meta["host"])
    return True


people = apprise.Apprise()
people.add("recorder://anna", tag="anna")
people.add("recorder://ben", tag="ben")
people.add("recorder://channel")
print(f"apprise {importlib.metadata.version('apprise')}:")
for tag, expected in (
    (["anna"], ["anna"]),
    (["anna", "ben"], ["anna", "ben"]),
    (["nobody"], []),
    ([], ["channel"]),
    (None, ["channel"]),
    ("", ["channel"]),
    (["anna", ""], ["anna", "channel"]),
    (["anna,ben"], []),
    ("anna,ben", ["anna", "ben"]),
    (["ANNA"], ["anna"]),
):
    told.clear()
    people.notify(body="Your parcel is here.", tag=tag)
    print(f"  {tag!r}: {sorted(told)}")
    assert sorted(told) == expected, told
PYTHON
