#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# No offers are pushed on a public holiday of the person's country, of which no more is known than its code. What a
# library has for 2027:
#
# - GB, `country_holidays("GB")` of holidays 0.109: eight days, without Easter Monday and the bank holiday of 30 August,
#   which all of England has. workalendar 17.0.0 has both.
# - CH, holidays: four days, without 26 December and Easter Monday, which most of its cantons have. workalendar has
#   both.
# - US, holidays: 15 days, among them the Fridays of 18 June, 24 and 31 December, as those after them are Saturdays.
#   workalendar has the last two, but not 19 June, a federal holiday since 2021, nor the day before it.
#
# holidays has those days that each part has; with `subdiv="ENG"` it has the two.
#
# Guessed before it was run: without a part it is what most people of the country have, and two libraries agree on
# federal holidays.
#
# Whoever asks by country pushes to all of England on Easter Monday.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: holidays==0.109 workalendar==17.0.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import holidays
import workalendar.registry

calendars = workalendar.registry.registry


def day(month, number):
    return datetime.date(2027, month, number)


def with_holidays(country, **options):
    return set(holidays.country_holidays(country, years=2027, **options))


def with_workalendar(country):
    return {date for date, _ in calendars.get(country)().holidays(2027)}


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("holidays", "workalendar")))
easter, august, boxing = day(3, 29), day(8, 30), day(12, 26)
fridays = {day(6, 18), day(12, 24), day(12, 31)}
for country, missing in (("GB", {easter, august}), ("CH", {easter, boxing})):
    days = with_holidays(country)
    print(f"  {country}: {len(days)} days with holidays, without {sorted(map(str, missing - days))}")
    assert not days & missing and missing <= with_workalendar(country), days
assert len(with_holidays("GB")) == 8 and len(with_holidays("CH")) == 4 and len(with_holidays("US")) == 15
assert {easter, august} <= with_holidays("GB", subdiv="ENG")
cantons = [with_holidays("CH", subdiv=part) for part in holidays.CH.subdivisions]
assert all(2 * sum(one in canton for canton in cantons) > len(cantons) for one in (easter, boxing))
days = with_workalendar("US")
print(f"  US: without {sorted(map(str, with_holidays('US') - days))} with workalendar")
assert fridays <= with_holidays("US") and with_holidays("US") - days == {day(6, 18), day(6, 19)}, days
PYTHON
