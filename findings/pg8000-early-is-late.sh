#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL 15 subtracts one time from another, a push's `sent_at - due_at`. pg8000 1.31.6 reads a difference below
# zero with its hours only below zero, and its minutes and seconds above: a push that went out 30 seconds too early is
# 30 seconds late, as is one that went out 30 seconds late. An hour and a half too early is half an hour too early, and
# `interval '1 day -1 second'`, of 86,399 seconds, is a day and a second. psycopg 3.3.9, psycopg2-binary 2.9.13 and
# asyncpg 0.32.0 are right in all.
#
# PostgreSQL writes -01:30:00. There is one sign, which stands before the hours, and is for all three.
#
# What one would guess: what a subtraction of times gives is read with its sign, whatever its size.
#
# Whoever has a sum or a mean of such differences has another, and a push that is early counts as late.
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

"$folder/python/bin/python" - "$port" <<'PYTHON'
import asyncio
import datetime
import sys

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2

where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "martlet"}
seconds = {  # of the interval: those of it, and those that pg8000 reads
    "timestamp '2026-11-29 12:00:00' - timestamp '2026-11-29 11:59:30'": (30, 30),
    "timestamp '2026-11-29 11:59:30' - timestamp '2026-11-29 12:00:00'": (-30, 30),
    "timestamp '2026-11-29 11:30:00' - timestamp '2026-11-29 13:00:00'": (-5400, -1800),
    "timestamp '2026-11-28 11:59:30' - timestamp '2026-11-29 12:00:00'": (-86430, -86370),
    "interval '-59 minutes'": (-3540, 3540),
    "interval '1 day -1 second'": (86399, 86401),
    "interval '1 day -2 hours'": (79200, 79200),
}


def with_dbapi(connect, name):
    connection = connect(**where, **{name: "postgres"})
    cursor = connection.cursor()
    read = []
    for expression in seconds:
        cursor.execute(f"SELECT {expression}")
        read.append(cursor.fetchone()[0])
    connection.close()
    return read


async def with_asyncpg():
    connection = await asyncpg.connect(**where, database="postgres")
    read = [await connection.fetchval(f"SELECT {expression}") for expression in seconds]
    await connection.close()
    return read


of_the_server = [row[0] for row in seconds.values()]
for name, read in (
    ("psycopg", with_dbapi(psycopg.connect, "dbname")),
    ("psycopg2", with_dbapi(psycopg2.connect, "dbname")),
    ("asyncpg", asyncio.run(with_asyncpg())),
    ("pg8000", with_dbapi(pg8000.dbapi.connect, "database")),
):
    assert all(type(value) is datetime.timedelta for value in read), read
    seen = [value.total_seconds() for value in read]
    print(f"{name}: {seen}")
    assert seen == ([row[1] for row in seconds.values()] if name == "pg8000" else of_the_server), seen
PYTHON
