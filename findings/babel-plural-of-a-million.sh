#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Babel 2.19.0 chooses which text of a message fits a number: `Locale("fr").plural_form(number)`. In French, Spanish,
# Portuguese, Italian and Catalan it says "one" or "other" for each number that one tries, and "many" for 1,000,000, for
# 2,000,000 and each other that is a whole number of millions, but not for 1,500,000. Babel 2.9.1 says "other". In
# English and German there is no such form.
#
# A new catalog of messages (`babel.messages`) has three forms for these languages with Babel 2.19.0, of which the
# second is that of the millions, and the third the plural. With 2.9.1 it has two.
#
# It has the rules of CLDR, to which "many" has been added: French has "un million de points", with a "de".
#
# What one would guess: languages with a singular and a plural have two forms.
#
# Whoever has the texts in {"one": …, "other": …} has a KeyError, or a push without a text, for the one user or video
# that has reached a million.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

cat > "$folder/look.py" <<'PYTHON'
import sys

import babel
import babel.messages.plurals

romance = ("fr", "es", "pt", "it", "ca")
tried = [*range(10_001), 99_999, 100_000, 999_999, 1_000_001, 1_500_000, 2_000_001, 1.5, 0.5]
millions = (1_000_000, 2_000_000, 3_000_000, 1_000_000_000)
print("Babel", babel.__version__)
for language in (*romance, "en", "de"):
    form = babel.Locale(language).plural_form
    usual, large = {form(number) for number in tried}, {form(number) for number in millions}
    catalog = babel.messages.plurals.get_plural(language)
    forms = catalog.num_plurals
    print(f"  {language}: {sorted(usual)}; of whole millions {sorted(large)}; forms in a catalog: {forms}")
    assert usual == {"one", "other"}, usual
    assert large == {sys.argv[1] if language in romance else "other"}, large
    assert forms == (3 if large == {"many"} else 2)
PYTHON

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "babel==$1" pytz==2026.2 \
    setuptools==70.3.0
  "$folder/python/bin/python" "$folder/look.py" "$2"
}

look 2.9.1 other
look 2.19.0 many
