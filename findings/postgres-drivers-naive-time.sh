#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL 15, a column `send_at timestamptz`, and datetime(2026, 11, 29, 12, 0) of Python, which has no zone.
# psycopg 3.3.9, psycopg2-binary 2.9.13 and pg8000 1.31.6 store noon in the time zone of the server's session; asyncpg
# 0.32.0 stores noon in the time zone of the process (`TZ`). None refuses it.
#
# - Server in UTC, process in Berlin: 12:00 UTC with the first three, 11:00 UTC with asyncpg.
# - Server in Berlin, process in UTC: 11:00 UTC with the first three, 12:00 UTC with asyncpg.
#
# The first three send the time as they have it, and the server adds a zone; asyncpg adds one, to send UTC.
#
# What one would guess: a driver sends a time without a zone as it is, and the session's TimeZone decides for
# each.
#
# Whoever writes times of sending with one and moves to another, or has two services that do, sends at other hours.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
bin=/usr/lib/postgresql/15/bin
as_postgres() {
  if [ "$(id -u)" = 0 ]; then # PostgreSQL does not run as root
    setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
  else
    "$@"
  fi
}
stop() {
  if [ -e "$folder/server/data/postmaster.pid" ]; then
    as_postgres "$bin/pg_ctl" -s -D "$folder/server/data" -m immediate -w stop
  fi
  rm -rf "$folder"
}
trap stop EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: psycopg==3.3.9 \
  psycopg-binary==3.3.9 psycopg2-binary==2.9.13 pg8000==1.31.6 asyncpg==0.32.0
mkdir "$folder/server"
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$folder"
  chown postgres "$folder/server"
fi
cd "$folder/server"
as_postgres "$bin/initdb" -D data -U martlet -A trust -E UTF8 --locale C.UTF-8 --no-sync > /dev/null
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
as_postgres "$bin/pg_ctl" -s -w -D data -l log -o "-p $port -k '' -c listen_addresses=127.0.0.1 -c fsync=off" start

cat > "$folder/look.py" <<'PYTHON'
import asyncio
import datetime
import os
import sys

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2

port, zone, expected = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
noon = datetime.datetime(2026, 11, 29, 12, 0)
where = {"host": "127.0.0.1", "port": port, "user": "martlet"}


def with_dbapi(connect, name):
    connection = connect(**where, **{name: "postgres"})
    cursor = connection.cursor()
    cursor.execute(f"SET TimeZone = '{zone}'")
    cursor.execute("CREATE TEMPORARY TABLE pushes (send_at timestamptz)")
    cursor.execute("INSERT INTO pushes VALUES (%s)", (noon,))
    cursor.execute("SELECT to_char(send_at AT TIME ZONE 'UTC', 'HH24:MI') FROM pushes")
    said = cursor.fetchone()[0]
    connection.close()
    return said


async def with_asyncpg():
    connection = await asyncpg.connect(**where, database="postgres", server_settings={"TimeZone": zone})
    await connection.execute("CREATE TEMPORARY TABLE pushes (send_at timestamptz)")
    await connection.execute("INSERT INTO pushes VALUES ($1)", noon)
    said = await connection.fetchval("SELECT to_char(send_at AT TIME ZONE 'UTC', 'HH24:MI') FROM pushes")
    await connection.close()
    return said


seen = {
    "psycopg": with_dbapi(psycopg.connect, "dbname"),
    "psycopg2": with_dbapi(psycopg2.connect, "dbname"),
    "pg8000": with_dbapi(pg8000.dbapi.connect, "database"),
    "asyncpg": asyncio.run(with_asyncpg()),
}
print(f"session in {zone}, process in {os.environ['TZ']}:", *(f"{name} {said} UTC;" for name, said in seen.items()))
assert list(seen.values()) == expected, seen
PYTHON

TZ=Europe/Berlin "$folder/python/bin/python" "$folder/look.py" "$port" UTC 12:00 12:00 12:00 11:00
TZ=UTC "$folder/python/bin/python" "$folder/look.py" "$port" Europe/Berlin 11:00 11:00 11:00 12:00
TZ=UTC "$folder/python/bin/python" "$folder/look.py" "$port" UTC 12:00 12:00 12:00 12:00
