#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL 15, a column `cost numeric`, of what a push costs, and 0.1 of Python. asyncpg 0.32.0 stores
# 0.1000000000000000055511151231257827021181583404541015625. `WHERE cost = 0.1` does not find it, and the sum of ten
# such is not 1. psycopg 3.3.9, psycopg2-binary 2.9.13 and pg8000 1.31.6 store 0.1, and have it found. In a column
# `numeric(10, 2)` all four store 0.10.
#
# asyncpg makes a Decimal of the float, which has each of its digits; the others write it as Python prints it.
#
# What one would guess: 0.1 is 0.1 in a column of decimal digits, or a float is refused there.
#
# Whoever has two services with two drivers has two costs of the same push, which no query takes for equal.
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
import sys

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2

where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "martlet"}
create = "CREATE TEMPORARY TABLE pushes (cost numeric, rounded numeric(10, 2))"
look = "SELECT min(cost)::text, min(rounded)::text, sum(cost) = 1, count(*) FILTER (WHERE cost = 0.1) FROM pushes"


def with_dbapi(connect, name):
    connection = connect(**where, **{name: "postgres"})
    cursor = connection.cursor()
    cursor.execute(create)
    for _ in range(10):
        cursor.execute("INSERT INTO pushes VALUES (%s, %s)", (0.1, 0.1))
    cursor.execute(look)
    said = tuple(cursor.fetchone())
    connection.close()
    return said


async def with_asyncpg():
    connection = await asyncpg.connect(**where, database="postgres")
    await connection.execute(create)
    for _ in range(10):
        await connection.execute("INSERT INTO pushes VALUES ($1, $2)", 0.1, 0.1)
    said = tuple(await connection.fetchrow(look))
    await connection.close()
    return said


all_digits = "0.1000000000000000055511151231257827021181583404541015625"
for name, said, expected in (
    ("psycopg", with_dbapi(psycopg.connect, "dbname"), ("0.1", "0.10", True, 10)),
    ("psycopg2", with_dbapi(psycopg2.connect, "dbname"), ("0.1", "0.10", True, 10)),
    ("pg8000", with_dbapi(pg8000.dbapi.connect, "database"), ("0.1", "0.10", True, 10)),
    ("asyncpg", asyncio.run(with_asyncpg()), (all_digits, "0.10", False, 0)),
):
    print(f"{name}: stored {said[0]} and {said[1]}; the sum of ten is 1: {said[2]}; found with 0.1: {said[3]} of 10")
    assert said == expected, said
PYTHON
