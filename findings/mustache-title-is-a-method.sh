#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A text of Mustache that shows a title if there is one, `{{#title}}{{title}}: {{/title}}{{body}}`, with the title "your
# order" and the body "It is here.":
#
# - pystache 0.6.8: "your order: It is here."
# - chevron 0.14.0, mstache 0.2.0 and ustache 0.1.6: "&lt;built-in method title of str object at 0x7f…&gt;: It is here."
# - combustache 3.0.1: "Your Order: It is here." `{{#count}}{{count}} new{{/count}}` with the text "7" is a TypeError.
#
# `{{#subtitle}}{{subtitle}}{{/subtitle}}` and `{{#body}}{{body}}{{/body}}` are right with each, and so is `{{.}}` in
# place of `{{title}}`, and a count that is a number. In a section of a text, that text is where a name is looked up
# first, and Python's texts have methods of these names: title, count, index, format, join, split, lower.
#
# What one would guess: in the section, `{{title}}` is the title; a text has no keys.
#
# Whoever writes templates in the usual way shows all users the inside of Python, and only in those with a title.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pystache==0.6.8 chevron==0.14.0 \
  mstache==0.2.0 ustache==0.1.6 combustache==3.0.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib
import importlib.metadata
import re

method = "&lt;built-in method {} of str object at 0x…&gt;"
push = {"title": "your order", "subtitle": "new", "body": "It is here.", "count": "7"}
texts = {
    "{{#title}}{{title}}: {{/title}}{{body}}": {
        "pystache": "your order: It is here.",
        "combustache": "Your Order: It is here.",
        "others": method.format("title") + ": It is here.",
    },
    "{{#count}}{{count}} new{{/count}}": {
        "pystache": "7 new",
        "combustache": "TypeError",
        "others": method.format("count") + " new",
    },
    "{{#title}}{{.}}: {{/title}}{{body}}": {"others": "your order: It is here."},
    "{{#subtitle}}{{subtitle}}{{/subtitle}}": {"others": "new"},
    "{{#body}}{{body}}{{/body}}": {"others": "It is here."},
}
for name in ("pystache", "chevron", "mstache", "ustache", "combustache"):
    library = importlib.import_module(name)
    print(name, importlib.metadata.version(name))
    for text, expected in texts.items():
        try:
            seen = re.sub("0x[0-9a-f]+", "0x…", library.render(text, push))
        except TypeError:
            seen = "TypeError"
        print(f"  {text}: {seen}")
        assert seen == expected.get(name, expected["others"])
    seen = library.render("{{#count}}{{count}} new{{/count}}", {"count": 7})
    assert seen == "7 new", seen
PYTHON
