#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An alert in Polish counts things, for which a catalog has the forms one, few and many: 1 plik, 2 pliki, 5 plików. Few
# are the numbers that end in 2, 3 or 4, but not in 12, 13 or 14. What python-i18n 0.3.9, `t("new", count=…)`, takes of
# a catalog with zero, one, few and many, and Babel 2.19.0 of it:
#
#                  0     1     2     4     5     11    12    22    24    102
# - python-i18n    zero  one   few   few   few   many  many  many  many  many
# - Babel          many  one   few   few   many  many  many  few   few   few
#
# Few is 2 to 5 for it, in each language, as a setting `plural_few` has it. In Arabic, where few are 3 to 10, and 103,
# it is 2 to 5 too. 1.5 and -3 are few as well.
#
# Guessed before it was run: names of forms as those of Unicode are chosen by the language's rule.
#
# Whoever has a catalog from translators is wrong in Polish for 5 and for most numbers above 20, and in English right.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: python-i18n==0.3.9 pyyaml==6.0.4 \
  babel==2.19.0
for language in pl ar; do
  cat > "$folder/push.$language.yml" <<YAML
$language:
  new: {zero: zero, one: one, few: few, many: many}
YAML
done
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import importlib.metadata
import sys

import babel
import i18n

i18n.load_path.append(sys.argv[1])
numbers = (0, 1, 2, 4, 5, 11, 12, 22, 24, 102)
own = "zero one few few few many many many many many"
print("python-i18n", importlib.metadata.version("python-i18n"), "Babel", babel.__version__)
for language, rule in (
    ("pl", "many one few few many many many few few few"),
    ("ar", "zero one two few few many many many many other"),
):
    i18n.set("locale", language)
    seen = " ".join(i18n.t("push.new", count=number) for number in numbers)
    other = " ".join(babel.Locale(language).plural_form(number) for number in numbers)
    print(f"  {language}: {seen}; Babel: {other}")
    assert (seen, other) == (own, rule)
    assert [i18n.t("push.new", count=number) for number in (1.5, -3, 103)] == ["few", "few", "many"]
assert babel.Locale("ar").plural_form(103) == "few"
PYTHON
