"""A schema that gets older: migrated whole or not at all, by one process at a time; a newer one is refused."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lossless.store.schema as schema
from lossless import Engine
from lossless.errors import LosslessError, SchemaError
from lossless_children import children, message, open_as_newer, opened

SHIPPED = schema.MIGRATIONS
NEXT = """
import os
import time
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = depends_on = None


def upgrade():
    op.create_table("lossless_later", sa.Column("id", sa.Text(), primary_key=True))
    time.sleep({pause})
    {then}
    op.execute("INSERT INTO lossless_later VALUES ('made')")
"""


def newer(folder: Path, *, then: str = "pass", pause: float = 0.0) -> Path:
    """Make the migrations of a version that comes after this one."""
    migrations = Path(shutil.copytree(SHIPPED, Path(tempfile.mkdtemp(dir=folder)) / "migrations"))
    (migrations / "versions" / "m0002_next.py").write_text(NEXT.format(then=then, pause=pause))
    return migrations


@pytest.fixture
def as_newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    def becoming(**how: Any) -> Path:
        migrations = newer(tmp_path, **how)
        monkeypatch.setattr(schema, "MIGRATIONS", migrations)
        monkeypatch.setattr(schema, "HEAD_REVISION", "0002")
        monkeypatch.setattr(schema, "_KNOWN_REVISIONS", ("0001", "0002"))
        return migrations

    return becoming


def rows(url: str) -> list[Any]:
    with opened(url) as engine, engine.database.read() as connection:
        return list(connection.exec_driver_sql("SELECT id FROM lossless_later").scalars())


@pytest.fixture
def older_url(url: str) -> str:
    with opened(url) as engine:
        engine.thread("t").append([{"role": "user", "content": f"said before {number}"} for number in range(20)])
    return url


def test_an_older_database_is_migrated_when_it_is_opened(older_url: str, as_newer: Callable[..., Path]) -> None:
    as_newer()
    with opened(older_url) as engine:
        assert engine.database.schema_before == "0001"
        assert engine.verify().ok
        assert [message.text for message in engine.thread("t").messages()][-1] == "said before 19"
    assert rows(older_url) == ["made"]
    with opened(older_url) as engine:
        assert engine.database.schema_before == "0002"


def test_a_migration_that_fails_leaves_the_old_database(older_url: str, as_newer: Callable[..., Path]) -> None:
    as_newer(then="raise RuntimeError('interrupted')")
    with pytest.raises((RuntimeError, LosslessError)):
        opened(older_url)
    with pytest.MonkeyPatch.context() as meanwhile:
        meanwhile.setattr(schema, "HEAD_REVISION", "0001")
        with opened(older_url) as engine:
            assert engine.verify().ok
            assert len(engine.thread("t").messages()) == 20
    as_newer()
    with opened(older_url) as engine:
        assert engine.database.schema_before == "0001"
    assert rows(older_url) == ["made"]


def test_a_process_that_dies_in_a_migration_leaves_the_old_database(
    older_url: str, as_newer: Callable[..., Path], tmp_path: Path
) -> None:
    dying = newer(tmp_path, then="os._exit(9)")
    gate = children().Barrier(1)
    child = children().Process(target=open_as_newer, args=(older_url, dying, gate))
    child.start()
    child.join(60)
    assert child.exitcode == 9
    with opened(older_url) as engine:
        assert engine.database.schema_before == "0001"
        assert engine.verify().ok
    as_newer()
    with opened(older_url) as engine:
        assert len(engine.thread("t").messages()) == 20
    assert rows(older_url) == ["made"]


def test_processes_that_migrate_at_once_do_it_once(older_url: str, as_newer: Callable[..., Path], tmp_path: Path) -> None:
    migrations = newer(tmp_path, pause=0.3)
    gate = children().Barrier(3)
    started = [children().Process(target=open_as_newer, args=(older_url, migrations, gate)) for _ in range(3)]
    for child in started:
        child.start()
    for child in started:
        child.join(60)
    assert [child.exitcode for child in started] == [0, 0, 0]
    as_newer()
    assert rows(older_url) == ["made"]
    with opened(older_url) as engine:
        assert len(engine.thread("t").messages()) == 23
        assert engine.verify().ok


def test_a_version_that_is_older_than_the_database_leaves_it_alone(older_url: str, as_newer: Callable[..., Path]) -> None:
    as_newer()
    opened(older_url).close()
    with pytest.MonkeyPatch.context() as meanwhile:
        meanwhile.setattr(schema, "HEAD_REVISION", "0001")
        meanwhile.setattr(schema, "_KNOWN_REVISIONS", ("0001",))
        with pytest.raises(SchemaError) as caught:
            opened(older_url)
    assert "0002" in caught.value.message
    assert "pgrade" in caught.value.hint
    assert rows(older_url) == ["made"]


def test_an_engine_that_is_open_while_another_version_migrates_says_so_and_writes_nothing_more(
    older_url: str, as_newer: Callable[..., Path]
) -> None:
    with opened(older_url, window=2_000, background=False) as old:
        old.thread("t").context()
        as_newer()
        with opened(older_url) as new:
            new.thread("t").append({"role": "user", "content": "by the newer"})
        uses: tuple[Callable[[], object], ...] = (
            lambda: old.thread("t").messages(),
            lambda: old.thread("t").context(),
            lambda: old.thread("t").grep("said"),
            lambda: old.thread("t").append({"role": "user", "content": "by the older"}),
            lambda: old.thread("t").compact(force=True),
            lambda: old.thread("another").append({"role": "user", "content": "by the older"}),
        )
        for use in uses:
            with pytest.raises(SchemaError, match="0001 to 0002") as caught:
                use()
            assert "pgrade" in caught.value.hint
    with opened(older_url) as new:
        assert new.verify().ok
        assert [found.text for found in new.thread("t").messages()][20:] == ["by the newer"]
        assert [thread.id for thread in new.threads()] == ["t"]


def test_a_writer_of_the_older_version_is_stopped_between_two_writes(older_url: str, as_newer: Callable[..., Path]) -> None:
    acknowledged: list[str] = []
    ended: list[LosslessError] = []
    begun = threading.Event()

    def go_on(old: Engine) -> None:
        for number in range(100_000):
            try:
                acknowledged.extend(ref.id for ref in old.thread("t").append(message("old", number)))
            except LosslessError as error:
                ended.append(error)
                return
            if number == 5:
                begun.set()

    with opened(older_url) as old:
        writer = threading.Thread(target=go_on, args=(old,))
        writer.start()
        assert begun.wait(30)
        as_newer(pause=0.2)
        with opened(older_url) as new:
            before = len(new.thread("t").messages())
            writer.join(60)
            assert not writer.is_alive()
            assert [type(error) for error in ended] == [SchemaError]
            assert [found.id for found in new.thread("t").messages()][20:] == acknowledged
            assert len(acknowledged) + 20 == before, "nothing of the older version came after the migration"
            assert new.verify().ok
