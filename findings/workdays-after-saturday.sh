#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A reminder comes one working day after an order. Of an order on Saturday, 28 November 2026, it comes
#
# - with pandas 3.1.1, `day + BDay(1)`, and workalendar 17.0.0, `add_working_days(day, 1)`: on Monday, the 30th;
# - with numpy 2.4.6, `busday_offset(day, 1, roll="forward")`, and polars 2.1.0, `add_business_days(1, roll="forward")`:
#   on Tuesday, 1 December. With `roll="backward"` it is Monday.
#
# Without `roll`, both refuse a Saturday. One working day before, it is Friday with "forward" and with pandas, and
# Thursday, the 26th, with "backward". Of an order on Friday it is Monday, by all.
#
# Guessed before it was run: Monday, by all; "forward", as it is a step forward.
#
# The day is first moved to a working day, and then counted from. Whoever asks for the direction in which one counts has
# one day too many, for those alone who order on a weekend.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: numpy==2.4.6 polars==2.1.0 \
  pandas==3.1.1 workalendar==17.0.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime

import numpy
import pandas
import polars
import workalendar.europe

FRIDAY, SATURDAY, SUNDAY = (datetime.date(2026, 11, day) for day in (27, 28, 29))
calendar = workalendar.europe.Germany()


def days(day, count):
    series = polars.Series([day]).dt
    return {
        "pandas": (pandas.Timestamp(day) + pandas.offsets.BDay(count)).date(),
        "workalendar": calendar.add_working_days(day, count),
        "numpy forward": numpy.busday_offset(day, count, roll="forward").item(),
        "polars forward": series.add_business_days(count, roll="forward")[0],
        "numpy backward": numpy.busday_offset(day, count, roll="backward").item(),
        "polars backward": series.add_business_days(count, roll="backward")[0],
    }


print(f"numpy {numpy.__version__}, polars {polars.__version__}, pandas {pandas.__version__}:")
for day, count, expected in (
    (FRIDAY, 1, "11-30 11-30 11-30 11-30 11-30 11-30"),
    (SATURDAY, 1, "11-30 11-30 12-01 12-01 11-30 11-30"),
    (SUNDAY, 1, "11-30 11-30 12-01 12-01 11-30 11-30"),
    (SATURDAY, -1, "11-27 11-27 11-27 11-27 11-26 11-26"),
):
    seen = days(day, count)
    print(f"  {count} from {day:%A}:", ", ".join(f"{name} {found:%m-%d}" for name, found in seen.items()))
    assert " ".join(f"{found:%m-%d}" for found in seen.values()) == expected, seen
for refuse in (lambda: numpy.busday_offset(SATURDAY, 1), lambda: polars.Series([SATURDAY]).dt.add_business_days(1)):
    try:
        raise SystemExit(f"no error: {refuse()}")
    except (ValueError, polars.exceptions.ComputeError):
        pass
PYTHON
