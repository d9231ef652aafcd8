#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# PostgreSQL 15 has a time of day 24:00, the end of the day, and a time that never comes, infinity. What drivers read of
# them, and what is in the table after it has been written back as it was read:
#
# - psycopg2-binary 2.9.13: 24:00 is 00:00, the beginning of the day, and so it is written back. Infinity is the last
#   microsecond of the year 9999, and is written back as that, which is less than infinity.
# - asyncpg 0.32.0: 24:00 is a ValueError. Infinity is that microsecond too, but without a zone, which other values of
#   `timestamptz` have: to compare the two is a TypeError. It is written back as infinity.
# - psycopg 3.3.9: both are a DataError.
#
# What one would guess: what has no place in a datetime is an error for each; what is read and written back stays as it
# was; and all values of a column have a zone or none has.
#
# Whoever keeps quiet hours as 22:00 to 24:00 pushes at night, and after one run of a program that rewrites its rows,
# without an error, the database has it so too. What was to be kept forever, `WHERE until = 'infinity'` does not find.
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
import datetime
import sys

import asyncpg
import psycopg
import psycopg2

where = {"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "martlet"}
TABLE = "CREATE TEMPORARY TABLE quiet AS SELECT '{0}'::{1} AS until"


def with_dbapi(library, text, kind):
    connection = library.connect(**where, dbname="postgres")
    cursor = connection.cursor()
    cursor.execute("SET TimeZone = 'UTC'")
    cursor.execute(TABLE.format(text, kind))
    cursor.execute("SELECT until FROM quiet")
    try:
        value = cursor.fetchone()[0]
        cursor.execute("UPDATE quiet SET until = %s RETURNING until::text", (value,))
        return value, cursor.fetchone()[0]
    except library.DataError as error:
        return "DataError", str(error)
    finally:
        connection.close()


async def with_asyncpg(text, kind):
    connection = await asyncpg.connect(**where, database="postgres", server_settings={"TimeZone": "UTC"})
    await connection.execute(TABLE.format(text, kind))
    try:
        value = await connection.fetchval("SELECT until FROM quiet")
        return value, await connection.fetchval("UPDATE quiet SET until = $1 RETURNING until::text", value)
    except ValueError as error:
        return "ValueError", str(error)
    finally:
        await connection.close()


utc = datetime.timezone.utc
last = datetime.datetime.max
midnight, noon = datetime.time(0, 0), datetime.datetime(2026, 11, 29, 12, 0, tzinfo=utc)
ordinary = "2026-11-29 12:00:00+00"
for text, kind, expected in (
    (ordinary, "timestamptz", [(noon, ordinary)] * 3),
    ("24:00", "time", [(midnight, "00:00:00"), "DataError", "ValueError"]),
    (
        "infinity",
        "timestamptz",
        [(last.replace(tzinfo=utc), "9999-12-31 23:59:59.999999+00"), "DataError", (last, "infinity")],
    ),
):
    seen = (
        with_dbapi(psycopg2, text, kind),
        with_dbapi(psycopg, text, kind),
        asyncio.run(with_asyncpg(text, kind)),
    )
    print(f"{kind} {text}:")
    for name, (value, after), right in zip(("psycopg2", "psycopg", "asyncpg"), seen, expected):
        print(f"  {name}: {value}, then {after}")
        assert (value if isinstance(right, str) else (value, after)) == right, (name, value, after)
        assert getattr(value, "tzinfo", None) == getattr(right[0], "tzinfo", None), (name, value)

try:
    last > noon
    raise SystemExit("they are compared")
except TypeError as error:
    print(f"infinity of asyncpg > an ordinary time: TypeError: {error}")
PYTHON
