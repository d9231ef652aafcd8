#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A function `push(token, title)` is a command with Python Fire 0.7.1, `fire.Fire(push)`. What it is called with, with
# no error, by what stands behind `--title=` or `--token=`, as one argument of the shell:
#
# - "Gate #5": the text "Gate". What is behind the # is gone, as it is from "Anna # 1". "#5" stays.
# - "Hello, Anna": two texts, ("Hello", "Anna"). "50,000": the numbers 50 and 0. "Hello, Anna!" stays a text.
# - "[Sale]": a list. "(New)": the text "New". "None": nothing. "1_000": the number 1000.
# - The token 123e4567: infinity. 0x1f4e: 8014. 00123 stays a text.
#
# An argument is read as a line of Python if it is one, in which names stand for texts; so a # begins a comment.
#
# Guessed before it was run: what is a number or a list in Python becomes one, and all else is the text as it is.
#
# Whoever sends "Gate #5" with a small tool so, sends people to "Gate".
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: fire==0.7.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import fire

called = []


def push(token=None, title=None):
    called.append((token, title))


def title(text):
    fire.Fire(push, command=[f"--title={text}"])
    return called.pop()[1]


def token(text):
    fire.Fire(push, command=[f"--token={text}"])
    return called.pop()[0]


changed = {
    "Gate #5": "Gate",
    "Anna # 1": "Anna",
    "Hello, Anna": ("Hello", "Anna"),
    "50,000": (50, 0),
    "[Sale]": ["Sale"],
    "(New)": "New",
    "None": None,
    "1_000": 1000,
}
same = ["#5", "Hello, Anna!", "Gate 5", "50 000", "Sale", "It's here"]
seen = {text: title(text) for text in changed}
tokens = [token(text) for text in ("123e4567", "0x1f4e", "00123")]
print(f"fire {importlib.metadata.version('fire')}: {seen}; tokens {tokens}")
assert seen == changed, seen
assert [title(text) for text in same] == same
assert tokens == [float("inf"), 8014, "00123"], tokens
fire.Fire(push, command=["--title", "Gate #5"])
assert called.pop() == (None, "Gate")
PYTHON
