#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program stores pushes with dataset 2.0.0, which makes a table's columns of what comes, here in SQLite. The first is
# due on a day, date(2026, 11, 29), and the second at an hour of it, datetime(2026, 11, 29, 18, 30). What is read of the
# second, with no error and no warning:
#
# - `due`: date(2026, 11, 29). The hour is gone. If the first has an hour and the second a day, the day is midnight.
# - `user`, a text, where the first had the number 7: of "00042" it is 42, and of "1e3" 1000. "0x10" and "u7" are texts.
#
# The first row's types are the columns'. A column that is not there yet is made of the row that has it first.
#
# Guessed before it was run: the column becomes wider, or an error.
#
# Whoever begins with a push for a day pushes all that come after at midnight.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: dataset==2.0.0
"$folder/python/bin/python" - <<'PYTHON'
import datetime
import importlib.metadata

import dataset

DAY, EVENING = datetime.date(2026, 11, 29), datetime.datetime(2026, 11, 29, 18, 30)


def stored(column, *values):
    table = dataset.connect("sqlite:///:memory:")["pushes"]
    for value in values:
        table.insert({"token": "0a", column: value})
    return [row[column] for row in table.find(order_by="id")]


due = stored("due", DAY, EVENING)
users = stored("user", 7, "00042", "1e3", "0x10", "u7")
print(f"dataset {importlib.metadata.version('dataset')}: {due}; {users}")
assert due == [DAY, DAY] and type(due[1]) is datetime.date, due
assert users == [7, 42, 1000, "0x10", "u7"], users
assert stored("due", EVENING, DAY) == [EVENING, datetime.datetime(2026, 11, 29)]
PYTHON
