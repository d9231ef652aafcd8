#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What a person wrote as a country is looked up with `pycountry.countries.search_fuzzy(text)[0]` of pycountry 26.2.16,
# which has the best first. Of "Niger" it has Nigeria first, and Niger second; of "Curaçao" the Netherlands. These are
# the whole names of two countries, as the library itself has them; each of the other 247 is first for its own name.
# Of "Korea" it has North Korea first, and of "Kosovo" Serbia. `lookup` finds Niger and Curaçao, and has an error for
# the other two.
#
# It has 50 points for the name of a country, and 49 for that of a part, which Nigeria has: a state of Niger. What is
# added for "Nigeria", which begins with those letters, makes it more.
#
# Guessed before it was run: a text that is the name of a country has that country first, before all that is only like
# it.
#
# Whoever picks an audience by country so sends what is for 27 million people to another country, in another language.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pycountry==26.2.16
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import pycountry

countries = pycountry.countries


def first(text):
    return countries.search_fuzzy(text)[0].alpha_2


def exact(text):
    try:
        return countries.lookup(text).alpha_2
    except LookupError:
        return None


wrong = {country.name: first(country.name) for country in countries if first(country.name) != country.alpha_2}
others = {text: (first(text), exact(text)) for text in ("Korea", "Kosovo")}
print(f"pycountry {importlib.metadata.version('pycountry')}: of {len(countries)}, {wrong} are others; {others}")
assert len(countries) == 249 and wrong == {"Niger": "NG", "Curaçao": "NL"}, wrong
assert [exact(name) for name in wrong] == [countries.get(name=name).alpha_2 for name in wrong]
assert others == {"Korea": ("KP", None), "Kosovo": ("RS", None)}, others
PYTHON
