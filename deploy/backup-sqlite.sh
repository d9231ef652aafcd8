#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Copies a SQLite database of Martlet's while it is written to, and counts what is in the copy.
#
#   deploy/backup-sqlite.sh tokens.db tokens-backup.db
#
# VACUUM INTO reads the database in one transaction, whatever is written meanwhile. (.backup begins again with each write of
# another process: it may never end, and what it leaves then is empty, and intact.)
set -euo pipefail

source=${1:?the database}
copy=${2:?where its copy is to be, a file that does not exist}
fail() { echo "$0: $*" >&2; exit 1; }
[ -s "$source" ] || fail "there is no database $source"
[ ! -e "$copy" ] || fail "$copy is there already: name another file, or remove it"
# The copy has what the database has: user names, device tokens.
umask 077

# sql DATABASE STATEMENT: only reads it.
sql() { sqlite3 -batch -bail -cmd ".timeout 60000" "file:$(realpath "$1")?mode=ro" "$2"; }

# count DATABASE: the rows of each table.
count() {
  local table
  sql "$1" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name" |
    while read -r table; do echo "$table $(sql "$1" "SELECT count(*) FROM \"$table\"")"; done
}

# is_between BEFORE COPY AFTER: whether each table of the copy has as many rows as the database had at the time.
is_between() {
  awk '
    FNR == 1 { file++ }
    { rows[file, $1] = $2; if (file == 2) copied++; if (file == 1) tables++ }
    END {
      if (tables == 0 || copied != tables) exit 1
      for (place in rows) {
        split(place, part, SUBSEP); table = part[2]
        if (!((1, table) in rows) || !((2, table) in rows) || !((3, table) in rows)) exit 1
        low = rows[1, table]; high = rows[3, table]
        if (low + 0 > high + 0) { swap = low; low = high; high = swap }
        if (rows[2, table] + 0 < low + 0 || rows[2, table] + 0 > high + 0) exit 1
      }
    }' "$1" "$2" "$3"
}

work=$(mktemp -d "$copy.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Rows may come and go while they are counted; a copy that is wrong is wrong each time.
for attempt in 1 2 3 4 5; do
  rm -f "$work/copy"
  count "$source" > "$work/before"
  sql "$source" "VACUUM INTO '${work//\'/\'\'}/copy'"
  count "$source" > "$work/after"
  count "$work/copy" > "$work/counts"
  if is_between "$work/before" "$work/counts" "$work/after"; then break; fi
  [ "$attempt" -lt 5 ] || fail "the copy has not the rows that $source has: $(tr '\n' ' ' < "$work/counts")"
done
# Counted with the rows, in the same transactions.
registered=$(sql "$work/copy" "SELECT coalesce(sum(count), 0) FROM device_counts")
devices=$(sql "$work/copy" "SELECT count(*) FROM devices")
[ "$registered" = "$devices" ] || fail "the copy has $devices devices and counts $registered"
[ "$(sql "$work/copy" "PRAGMA integrity_check")" = ok ] || fail "the copy is damaged"
mv "$work/copy" "$copy"
echo "$copy: $(tr '\n' ' ' < "$work/counts")"
