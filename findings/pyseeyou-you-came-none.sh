#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Texts of pushes are in the MessageFormat of ICU, and pyseeyou 1.0.2 puts the numbers in. Of
#
#     You came {place, selectordinal, one{#st} two{#nd} few{#rd} other{#th}}!
#
# it makes "You came None!" for each place, in English, French and German, with no error. `plural` and `select` are
# right. Of "It''s here", in which two apostrophes are one in that format, it makes "It''s here".
#
# It reads `selectordinal`, has nothing that it makes of it, and puts Python's None into the text.
#
# Guessed before it was run: what a format has is right, or is an error, as `{n, number}` is, which it does not know.
#
# Whoever has a catalog that other programs read, and sends from Python, pushes "You came None!" to each winner.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: \
  --no-binary pyseeyou pyseeyou==1.0.2
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import pyseeyou

ORDINAL = "You came {place, selectordinal, one{#st} two{#nd} few{#rd} other{#th}}!"
PLURAL = "You have {place, plural, =0{none} one{# push} other{# pushes}}"
LANGUAGES = ("en", "fr", "de")
seen = {pyseeyou.format(ORDINAL, {"place": place}, language) for place in range(1, 5) for language in LANGUAGES}
print(f"pyseeyou {importlib.metadata.version('pyseeyou')}: {seen}")
assert seen == {"You came None!"}, seen
seen = [pyseeyou.format(PLURAL, {"place": place}, "en") for place in range(3)]
assert seen == ["You have none", "You have 1 push", "You have 2 pushes"], seen
assert pyseeyou.format("{sex, select, f{She} other{They}}", {"sex": "f"}, "en") == "She"
assert pyseeyou.format("It''s here", {}, "en") == "It''s here"
try:
    pyseeyou.format("{place, number}", {"place": 1}, "en")
except Exception as error:
    assert "replace_type" in str(error), error
else:
    raise AssertionError("it knows of numbers")
PYTHON
