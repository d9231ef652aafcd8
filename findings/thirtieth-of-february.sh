#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# 2026-02-30T12:00:00Z and 2026-04-31T12:00:00Z, days that do not exist (RFC 3339, 5.7):
#
# - `Time.iso8601` of Ruby 3.1.2 and `Date` of Node.js 20.20.2 make 2 March and 1 May of them. The 32nd they refuse.
# - SQLite 3.40.1 has two opinions: `unixepoch` is that of 2 March, and `datetime` and `strftime` give 30 February
#   back, as if it had been looked at. From 30 February to 2 March it counts 0 days.
# - Python 3.11.7, Java 17 (`Instant`) and `DateTime.iso8601` of the same Ruby refuse both.
#
# Guessed before it was run: what has a strict form in its name, or knows this form only, refuses; and `datetime(…)`
# of SQLite, which is null for what is no time, is a check.
#
# Whoever has such days from a form with three fields, or from "the 30th of each month", pushes at the beginning of
# the next month in one service and has an error in the other; and the database keeps a day that no other program
# reads.
#
# Fails if one of them answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ruby --version | grep -q '^ruby 3\.1\.2'
nodejs --version | grep -qx 'v20\.20\.2'
sqlite3 --version | grep -q '^3\.40\.1 '
java -version 2>&1 | grep -q '"17\.'
python3 --version | grep -qx 'Python 3\.11\..*'
cat > "$folder/Read.java" <<'JAVA'
class Read {
  public static void main(String[] texts) {
    try {
      System.out.println(java.time.Instant.parse(texts[0]));
    } catch (java.time.format.DateTimeParseException error) {
      System.out.println("refused");
    }
  }
}
JAVA

in_ruby() {
  ruby -rtime -e "puts((begin; $1.iso8601(ARGV[0]).to_time.utc.iso8601; rescue ArgumentError; 'refused'; end))" "$2"
}
in_node() {
  nodejs -e 'const d = new Date(process.argv[1]);
    console.log(isNaN(d) ? "refused" : d.toISOString().replace(".000", ""))' "$1"
}
in_python() {
  python3 -c '
import datetime, sys
try:
    print(datetime.datetime.fromisoformat(sys.argv[1]).isoformat().replace("+00:00", "Z"))
except ValueError:
    print("refused")' "$1"
}
in_sqlite() {
  sqlite3 :memory: "SELECT ifnull($1, 'refused')"
}

look() {
  local seen
  seen="Ruby Time: $(in_ruby Time "$1"); Node.js: $(in_node "$1"); Ruby DateTime: $(in_ruby DateTime "$1");"
  seen="$seen Python: $(in_python "$1"); Java: $(java "$folder/Read.java" "$1");"
  seen="$seen SQLite: $(in_sqlite "datetime('$1')"), $(in_sqlite "datetime(unixepoch('$1'), 'unixepoch')")"
  echo "$1: $seen"
  [ "$seen" = "$2" ] || { echo "expected: $2"; exit 1; }
}

same() {
  echo "Ruby Time: $1; Node.js: $1; Ruby DateTime: $2; Python: $2; Java: $2; SQLite: $3, $4"
}

at=2026-02-28T12:00:00Z
look $at "$(same $at $at '2026-02-28 12:00:00' '2026-02-28 12:00:00')"
look 2026-02-30T12:00:00Z "$(same 2026-03-02T12:00:00Z refused '2026-02-30 12:00:00' '2026-03-02 12:00:00')"
look 2026-04-31T12:00:00Z "$(same 2026-05-01T12:00:00Z refused '2026-04-31 12:00:00' '2026-05-01 12:00:00')"
look 2026-02-32T12:00:00Z "$(same refused refused refused refused)"
apart=$(in_sqlite "julianday('2026-03-02') - julianday('2026-02-30')")
echo "SQLite: days from 2026-02-30 to 2026-03-02: $apart"
[ "$apart" = 0.0 ]
