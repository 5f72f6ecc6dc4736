"""The triggers that keep rows as they are: what was removed, switched off or changed is named, and made again by the doctor."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from sqlalchemy.engine import make_url

from lossless.errors import StoreError
from lossless.store.guards import guards
from lossless_children import opened

NAME = "lossless_message_no_update"
RAISING = "BEGIN SELECT RAISE(ABORT, 'lossless_message is append-only'); END"

ON_SQLITE = {
    "removed": (f"DROP TRIGGER {NAME}",),
    "changed": (f"DROP TRIGGER {NAME}", f"CREATE TRIGGER {NAME} BEFORE UPDATE ON lossless_message WHEN 1 = 0 {RAISING}"),
    "of another table": (f"DROP TRIGGER {NAME}", f"CREATE TRIGGER {NAME} BEFORE UPDATE ON lossless_head {RAISING}"),
}
ON_POSTGRES = {
    "removed": (f"DROP TRIGGER {NAME} ON lossless_message",),
    "switched off": (f"ALTER TABLE lossless_message DISABLE TRIGGER {NAME}",),
    "switched off but for replicas": (f"ALTER TABLE lossless_message ENABLE REPLICA TRIGGER {NAME}",),
    "changed": (
        f"DROP TRIGGER {NAME} ON lossless_message",
        f"CREATE TRIGGER {NAME} BEFORE UPDATE OF seq ON lossless_message FOR EACH ROW EXECUTE FUNCTION lossless_append_only()",
    ),
    "what it calls changed": (
        "CREATE OR REPLACE FUNCTION lossless_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    ),
}


def change(url: str, *statements: str) -> None:
    """Run statements as somebody who may do everything."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(str(make_url(url).database), isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return
    conninfo = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(conninfo, autocommit=True) as server:
        for statement in statements:
            server.execute(statement.encode())


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        pytest.param(kind, how, id=f"{kind}-{how}")
        for kind, ways in (("sqlite", ON_SQLITE), ("postgresql", ON_POSTGRES))
        for how in ways
    ],
)
def test_a_guard_that_does_not_guard_is_named_and_made_again(full_url: str, kind: str, how: str) -> None:
    change(full_url, *(ON_SQLITE if kind == "sqlite" else ON_POSTGRES)[how])
    update = "UPDATE lossless_message SET role = 'system' WHERE thread_id = 't' AND seq = 7"
    with opened(full_url) as engine:
        found = engine.verify().findings
        assert {finding.kind for finding in found} == {"guard"}
        assert any(name in found[0].text for name in (NAME, "lossless_append_only"))
        assert engine.doctor(dry_run=True).mended
        assert engine.verify().findings == found
        done = engine.doctor()
        assert (done.mended, done.left) == (("the triggers that keep rows as they are",), ())
        assert engine.verify().problems == ()
        with pytest.raises(StoreError, match="append-only"):
            engine.database.write(lambda connection: connection.exec_driver_sql(update))
        assert engine.thread("t").append({"role": "user", "content": "and it goes on"})
        assert engine.erase("t", ["m_7"])
        assert engine.verify().problems == ()


def test_every_guard_is_there_and_no_other(full_url: str, kind: str) -> None:
    statement = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if kind == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    with opened(full_url) as engine, engine.database.read() as connection:
        assert set(connection.exec_driver_sql(statement).scalars()) == set(guards(connection))
