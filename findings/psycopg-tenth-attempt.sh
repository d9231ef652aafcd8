#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL 15: the time of the next attempt is counted in SQL, `now() + %s * %s * interval '1 second'`, with the
# number of the attempt and 3600, the seconds between two. psycopg 3.3.9 has it for the attempts 1 to 9. The tenth is an
# error, "smallint out of range". `SELECT %s + %s` with 30000 and 30000 is the same error. psycopg2-binary 2.9.13 has
# all.
#
# psycopg 3 binds on the server, and gives each number the smallest type in which it has room: 10 and 3600 are two
# smallints, and so is their product, which would be 36,000. psycopg2 writes the digits into the statement, where they
# are integers. With a cast, `%s::int * %s`, psycopg has all too; asyncpg 0.32.0 takes the statement only with one.
#
# What one would guess: Python's int is PostgreSQL's integer, or bigint, and 36,000 is no large number to either.
#
# Whoever moves from psycopg2 to psycopg has tests that pass, as those end after a few attempts; the pushes that wait
# for the tenth have an error in their place.
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
import psycopg
import psycopg2

where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "martlet"}
statement = "SELECT extract(epoch FROM {} * {} * interval '1 second')::bigint"


def with_dbapi(module, first="%s"):
    connection = module.connect(**where, dbname="postgres")
    cursor = connection.cursor()
    said = []
    for attempt in range(1, 13):
        try:
            cursor.execute(statement.format(first, "%s"), (attempt, 3600))
            said.append(cursor.fetchone()[0])
        except module.Error as error:
            said.append(str(error).splitlines()[0])
            connection.rollback()
    connection.close()
    return said


async def with_asyncpg():
    connection = await asyncpg.connect(**where, database="postgres")
    try:
        await connection.fetchval(statement.format("$1", "$2"), 1, 3600)
        raise AssertionError("asyncpg takes it without a cast")
    except asyncpg.AmbiguousFunctionError:
        pass
    counted = statement.format("$1::int", "$2::int")
    said = [await connection.fetchval(counted, attempt, 3600) for attempt in range(1, 13)]
    await connection.close()
    return said


right = [attempt * 3600 for attempt in range(1, 13)]
for name, said, expected in (
    ("psycopg2", with_dbapi(psycopg2), right),
    ("psycopg", with_dbapi(psycopg), right[:9] + ["smallint out of range"] * 3),
    ("psycopg with a cast", with_dbapi(psycopg, "%s::int"), right),
    ("asyncpg with casts", asyncio.run(with_asyncpg()), right),
):
    print(f"{name}: {said}")
    assert said == expected, said
PYTHON
