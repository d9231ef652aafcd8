#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two receipts in one `connection.execute(insert(receipts), [...])` of SQLAlchemy 2.0.44 and 2.1.9: {"token", "status"}
# of a push that was delivered, and {"token", "status", "reason"} of one that was refused. The second is stored without
# its reason, with no error and no warning. So it is with `values([...])` of the same list, and with an `update` whose
# second row alone has a reason. With the two in the other order it is an error: the second has no reason. The ORM's
# `session.execute(insert(Receipt), [...])` stores the reason, in either order.
#
# The statement is made for the keys of the first row, and what else is in a later one is not looked at.
#
# Guessed before it was run: the columns are those of all rows, with nulls; or a row that has a key more is refused, as
# one that has a key less is.
#
# Whoever stores what became of pushes in bulk has no reasons, unless a push that was refused is the first of its bulk.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

look() {
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "sqlalchemy==$1"
  "$folder/python/bin/python" -W error - <<'PYTHON'
import sqlalchemy
from sqlalchemy import Column, Integer, MetaData, String, Table, bindparam, create_engine, exc, insert, select, update
from sqlalchemy.orm import Session, registry

mapper = registry(metadata=MetaData())
receipts = Table(
    "receipts",
    mapper.metadata,
    Column("token", String, primary_key=True),
    Column("status", Integer),
    Column("reason", String),
)


@mapper.mapped
class Receipt:
    __table__ = receipts


delivered, refused = {"token": "aa", "status": 200}, {"token": "bb", "status": 410, "reason": "Unregistered"}


def reasons(write):
    """What is stored as the reason of the push that was refused, or the error's name."""
    engine = create_engine("sqlite://")
    mapper.metadata.create_all(engine)
    try:
        with Session(engine) as session:
            write(session)
            return session.execute(select(receipts.c.reason).where(receipts.c.token == "bb")).scalar_one()
    except exc.StatementError as error:
        return f"{type(error).__name__}: {error.orig}"


def updated(session):
    session.connection().execute(insert(receipts), [{"token": "aa"}, {"token": "bb"}])
    later = [{"t": row["token"], **{key: row[key] for key in row if key != "token"}} for row in (delivered, refused)]
    session.connection().execute(update(receipts).where(receipts.c.token == bindparam("t")), later)


both, turned = [delivered, refused], [refused, delivered]
print("SQLAlchemy", sqlalchemy.__version__)
for name, write, expected in (
    ("insert", lambda session: session.connection().execute(insert(receipts), both), None),
    ("insert, values", lambda session: session.connection().execute(insert(receipts).values(both)), None),
    ("update", updated, None),
    ("insert, turned", lambda session: session.connection().execute(insert(receipts), turned), "StatementError: "),
    ("ORM", lambda session: session.execute(insert(Receipt), both), "Unregistered"),
    ("ORM, turned", lambda session: session.execute(insert(Receipt), turned), "Unregistered"),
):
    seen = reasons(write)
    print(f"  {name}: {seen}")
    assert seen == expected or expected and seen.startswith(expected), seen
PYTHON
}

look 2.0.44
look 2.1.9
