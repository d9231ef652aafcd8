#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# pg8000 1.31.6, PostgreSQL 15, a column `quiet_until time` with 24:00:00 in it, which PostgreSQL has for the end of the
# day. pg8000 raises ValueError, since Python's time ends before that. From then on, with `autocommit`, the connection
# answers each query with the rows of the one before: SELECT 2 gives 1, SELECT 3 gives 2. After another such error it is
# two behind. A new cursor does not help. Without `autocommit`, and with `rollback()` after each error, no later query
# has rows: each raises ProgrammingError.
#
# The error leaves the rest of the answer unread.
#
# psycopg 3.3.9 and asyncpg 0.32.0 raise an error for the value too, and each later query has its own rows; psycopg2
# 2.9.13 reads 00:00.
#
# What one would guess: an error, perhaps, and then the connection is as before, if need be after `rollback()`.
#
# Whoever catches the error of one device, and goes on to the next, pushes to each with the row of another.
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
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: pg8000==1.31.6 psycopg==3.3.9 \
  psycopg-binary==3.3.9 psycopg2-binary==2.9.13 asyncpg==0.32.0
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
import importlib.metadata
import sys

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2

where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "martlet"}
quiet = "SELECT TIME '24:00:00'"
queries = ["SELECT 1", "SELECT 2", "SELECT 3", quiet, "SELECT 4", "SELECT 5", "SELECT 6"]


def with_dbapi(module, name):
    connection = module.connect(**where, **{name: "postgres"})
    connection.autocommit = True

    def ask(query):
        cursor = connection.cursor()
        try:
            cursor.execute(query)
            return str(cursor.fetchone()[0])
        except (ValueError, module.Error) as error:
            return type(error).__name__

    seen = [ask(query) for query in (quiet, *queries)]
    connection.close()
    return seen


async def with_asyncpg():
    connection = await asyncpg.connect(**where, database="postgres")
    seen = []
    for query in (quiet, *queries):
        try:
            seen.append(str(await connection.fetchval(query)))
        except ValueError as error:
            seen.append(type(error).__name__)
    await connection.close()
    return seen


for name, seen, expected in (
    ("psycopg", with_dbapi(psycopg, "dbname"), "DataError 1 2 3 DataError 4 5 6"),
    ("psycopg2", with_dbapi(psycopg2, "dbname"), "00:00:00 1 2 3 00:00:00 4 5 6"),
    ("asyncpg", asyncio.run(with_asyncpg()), "ValueError 1 2 3 ValueError 4 5 6"),
    ("pg8000", with_dbapi(pg8000.dbapi, "database"), "ValueError ProgrammingError 1 2 3 ValueError ProgrammingError 4"),
):
    print(f"{name}: 24:00, then 1 2 3, 24:00, 4 5 6:", *seen)
    assert seen == expected.split(), seen

connection = pg8000.dbapi.connect(**where, database="postgres")
seen = []
for query in (quiet, *queries[:3]):
    cursor = connection.cursor()
    try:
        cursor.execute(query)
        seen.append(str(cursor.fetchone()[0]))
    except (ValueError, pg8000.dbapi.Error) as error:
        seen.append(type(error).__name__)
        connection.rollback()
print("pg8000, without autocommit, rollback after each error: 24:00, then 1 2 3:", *seen)
assert seen == ["ValueError", *["ProgrammingError"] * 3], seen
PYTHON
