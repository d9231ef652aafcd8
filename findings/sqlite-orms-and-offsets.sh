#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A push is due at noon at +05:30, which is 06:30 in UTC, and is stored in SQLite. What ORMs make of the time, each in
# its column for times:
#
# - SQLAlchemy 2.0.44 and 2.1.9, `DateTime(timezone=True)`: it is read as 12:00 without a zone. A query for what is due
#   at 06:30 in UTC does not find it; one for what is due before 07:00 in UTC does not either. No error, no warning.
# - Tortoise 1.1.9 and Django 5.2.19: 06:30 in UTC, and both queries find it.
# - peewee 4.5.3, `DateTimeField`: it is read as it was. Neither query finds it: the texts are compared.
# - Pony 0.7.20, `Required(datetime)`: it is read as a text. Neither query finds it.
#
# SQLite has no type for times. The first writes the time into a text without its offset, and the last two with it.
#
# What one would guess of `DateTime(timezone=True)`: the same instant comes back, or it is refused.
#
# Whoever tests with SQLite, or runs on it, pushes in Kolkata five and a half hours late.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --prefer-binary peewee==4.5.3 pony==0.7.20 \
  tortoise-orm==1.1.9 Django==5.2.19

with_sqlalchemy() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "SQLAlchemy==$1"
  "$folder/python/bin/python" -W error - <<'PYTHON'
from datetime import datetime, timedelta, timezone

import sqlalchemy

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
same, later = NOON.astimezone(timezone.utc), datetime(2026, 11, 29, 7, 0, tzinfo=timezone.utc)
engine = sqlalchemy.create_engine("sqlite://")
pushes = sqlalchemy.Table("pushes", sqlalchemy.MetaData(), sqlalchemy.Column("at", sqlalchemy.DateTime(timezone=True)))
pushes.metadata.create_all(engine)
with engine.begin() as connection:
    connection.execute(sqlalchemy.insert(pushes), {"at": NOON})
    read = connection.execute(sqlalchemy.select(pushes.c.at)).scalar_one()
    queries = [sqlalchemy.select(pushes).where(which) for which in (pushes.c.at == same, pushes.c.at < later)]
    due = [len(connection.execute(query).all()) for query in queries]
print(f"SQLAlchemy {sqlalchemy.__version__}: {read!r}; due: {due}")
assert read == datetime(2026, 11, 29, 12, 0) and read.tzinfo is None and due == [0, 0], (read, due)
PYTHON
}

with_sqlalchemy 2.0.44
with_sqlalchemy 2.1.9
"$folder/python/bin/python" - <<'PYTHON'
import asyncio
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

import django
import django.conf
import peewee
import pony.orm
import tortoise
import tortoise.fields

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
same, later = NOON.astimezone(timezone.utc), datetime(2026, 11, 29, 7, 0, tzinfo=timezone.utc)


def with_peewee():
    database = peewee.SqliteDatabase(":memory:")

    class Push(peewee.Model):
        at = peewee.DateTimeField()

    Push.bind(database)
    Push.create_table()
    Push.create(at=NOON)
    return Push.get().at, [Push.select().where(query).count() for query in (Push.at == same, Push.at < later)]


def with_pony():
    database = pony.orm.Database("sqlite", ":memory:")

    class Push(database.Entity):
        at = pony.orm.Required(datetime)

    database.generate_mapping(create_tables=True)
    with pony.orm.db_session:
        Push(at=NOON)
    with pony.orm.db_session:
        at = Push.select().first().at
        due = Push.select(lambda push: push.at == same), Push.select(lambda push: push.at < later)
        return at, [query.count() for query in due]


class Due(tortoise.models.Model):
    at = tortoise.fields.DatetimeField()


async def with_tortoise():
    await tortoise.Tortoise.init(db_url="sqlite://:memory:", modules={"models": ["__main__"]})
    await tortoise.Tortoise.generate_schemas()
    await Due.create(at=NOON)
    seen = (await Due.first()).at, [await Due.filter(at=same).count(), await Due.filter(at__lt=later).count()]
    await tortoise.Tortoise.close_connections()
    return seen


def with_django():
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    django.conf.settings.configure(USE_TZ=True, DATABASES={"default": database})
    django.setup()
    from django.db import connection, models

    class Push(models.Model):
        at = models.DateTimeField()

        class Meta:
            app_label = "pushes"

    with connection.schema_editor() as editor:
        editor.create_model(Push)
    Push.objects.create(at=NOON)
    return Push.objects.get().at, [Push.objects.filter(at=same).count(), Push.objects.filter(at__lt=later).count()]


for name, seen, kind, found in (
    ("tortoise-orm", asyncio.run(with_tortoise()), same.isoformat(), [1, 1]),
    ("Django", with_django(), same.isoformat(), [1, 1]),
    ("peewee", with_peewee(), NOON.isoformat(), [0, 0]),
    ("pony", with_pony(), "a text", [0, 0]),
):
    read, due = seen
    print(f"{name} {version(name)}: {read!r}; due: {due}")
    assert (read.isoformat() if isinstance(read, datetime) else "a text") == kind and due == found, seen
PYTHON
