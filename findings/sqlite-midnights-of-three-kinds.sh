#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is worth something until the end of a day, "2026-11-29 24:00", as ISO 8601 and PostgreSQL have it, and a
# table's due times are compared with `datetime('2026-11-29 24:00')`, both texts. What that is, and
# `date('2026-02-30')`, the last day of a month of 30 days:
#
# - SQLite 3.40.1 (that of Debian 12): 2026-11-29 24:00:00, and 2026-02-30. The texts are as they were.
# - SQLite 3.54.1: 2026-11-30 00:00:00, and 2026-03-02.
# - pyturso 0.8.3, the rewrite in Rust: 2026-11-30 24:00:00, a day later, and 2026-03-02.
#
# `unixepoch` of the same, and with `'+1 hours'` behind it, is the same for all three.
#
# Guessed before it was run: midnight of the 30th, or null, as for 25:00, and the same for each release.
#
# Whoever picks what is due before that moment, by comparing texts, pushes all of the day after as well with pyturso, a
# day early; and a date that one release of SQLite has stored is another one in the next.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
for package in apsw==3.40.1.0 apsw==3.54.1.0 pyturso==0.8.3; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: --target "$folder/$package" \
    "$package"
done

look() { # what it is, and the package
  local said
  said=$(PYTHONPATH="$folder/$2" "$folder/python/bin/python" - << 'PYTHON'
try:
    import apsw
    cursor = apsw.Connection(":memory:").cursor()
except ImportError:
    import turso
    cursor = turso.connect(":memory:").cursor()
cursor.execute(
    "SELECT datetime('2026-11-29 24:00'), date('2026-02-30'), datetime('2026-11-29 24:00', '+1 hours'),"
    " unixepoch('2026-11-29 24:00'), datetime('2026-11-29 25:00')"
)
(row,) = cursor.fetchall()
assert row[2:] == ("2026-11-30 01:00:00", 1795996800, None), row
print(*row[:2], sep=", ")
PYTHON
)
  echo "$2: $said"
  [ "$said" = "$1" ]
}

look '2026-11-29 24:00:00, 2026-02-30' apsw==3.40.1.0
look '2026-11-30 00:00:00, 2026-03-02' apsw==3.54.1.0
look '2026-11-30 24:00:00, 2026-03-02' pyturso==0.8.3
