"""What is promised of the store, as properties, on both databases.

What goes in comes out, nothing stored can be changed, no tenant sees another, and whoever writes beside whom, nothing is lost,
doubled or reordered.

How threads change is drawn in ``core/test_engine_states.py``, what is searched for in ``core/store/test_search_totality.py``, and
where a process dies in ``test_crashes.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from lossless import Engine, Thread
from lossless.errors import StoreError
from lossless.store.guards import GUARDED
from lossless.store.tables import METADATA
from lossless_children import fill_for_acts, message, opened
from lossless_postgres import Server

QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database that the examples of this module share."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('invariants') / 'a.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


@pytest.fixture(scope="module")
def engine(shared_url: str) -> Iterator[Engine]:
    with opened(shared_url, window=2_000, background=False) as engine:
        fill_for_acts(engine)
        engine.erase("t", ["given-4"])
        yield engine


# 1. Verbatim

TEXT = st.text(st.characters(), max_size=30)  # surrogates and NUL among them
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
VALUES = st.recursive(
    LEAVES | st.integers(-(2**300), 2**300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.just("$lossless"), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None, suppress_health_check=QUIET)
@given(role=st.sampled_from(["user", "assistant", "system"]), content=TEXT, extra=VALUES)
@example(role="user", content="\ud800 \0", extra={"z": 1, "a": 1.0, "n": -0.0, "$lossless": ["tuple", []]})
def test_what_goes_in_comes_out(engine: Engine, role: str, content: str, extra: Any) -> None:
    thread = engine.thread(uuid.uuid4().hex)
    payload = {"role": role, "content": content, "metadata": extra}
    (ref,) = thread.append(deepcopy(payload), compact=False)
    engine.reader.forget()
    assert repr(thread.messages()[0].payload) == repr(payload)  # repr tells 1 from 1.0 and True, and one key order from another
    engine.reader.forget()
    assert repr(thread.expand(ref.id)[0].payload) == repr(payload)


# 2. Append-only

COLUMNS = [(f"lossless_{table}", column.name) for table in GUARDED for column in METADATA.tables[f"lossless_{table}"].columns]
CHANGES = ("update", "delete", "upsert", "of one database")
STATEMENTS = {
    "update": "UPDATE {table} SET {column} = {column}",
    "delete": "DELETE FROM {table}",
    "upsert": (
        "INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE true "
        "ON CONFLICT ({key}) DO UPDATE SET {column} = excluded.{column}"
    ),
    "sqlite": "REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table}",
    "postgresql": "TRUNCATE {table} CASCADE",
}


@settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
@given(at=st.sampled_from(COLUMNS), change=st.sampled_from(CHANGES))
def test_nothing_that_is_stored_can_be_changed(engine: Engine, at: tuple[str, str], change: str) -> None:
    table, column = at
    rows = f"SELECT * FROM {table}"
    with engine.database.read() as connection:
        before = sorted(map(repr, connection.exec_driver_sql(rows)))
        known = {"columns": METADATA.tables[table].columns, "key": METADATA.tables[table].primary_key}
        statement = STATEMENTS[connection.dialect.name if change == "of one database" else change].format(
            table=table, column=column, **{name: ", ".join(each.name for each in found) for name, found in known.items()}
        )
    assume(before)
    if table == "lossless_erasure" and change in (
        "update",
        "upsert",
    ):  # its rows are finished later: a change that is none is let
        engine.database.write(lambda connection: connection.exec_driver_sql(statement))
    else:
        with pytest.raises(StoreError, match="append-only"):
            engine.database.write(lambda connection: connection.exec_driver_sql(statement))
    with engine.database.read() as connection:
        assert sorted(map(repr, connection.exec_driver_sql(rows))) == before


@pytest.mark.parametrize(
    "change", ["open = 1", "reason = 'another'", "who = 'somebody'", "at = 0", "number = 7", "kind = 'collect'"]
)
def test_the_record_of_a_removal_stays_and_is_not_opened_again(engine: Engine, change: str) -> None:
    with pytest.raises(StoreError, match="append-only"):
        engine.database.write(lambda connection: connection.exec_driver_sql(f"UPDATE lossless_erasure SET {change}"))


# 16. Isolation

TENANTS = ("a", "A", "a%", "ä'; --", " a", "")
NAMES = ("t", "T", "t|u", "a")
WORDS = ("walrus", "penguin", "Walrus and penguin", "象")
SAID = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(NAMES), st.sampled_from(WORDS)), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def tenants(shared_url: str) -> Iterator[list[tuple[Engine, dict[str, list[str]]]]]:
    """Engines of some tenants of one database, each with what it was told."""
    engines = [opened(shared_url, namespace=f"tenant {name}", window=2_000, background=False) for name in TENANTS[:5]]
    yield [(engine, {}) for engine in engines]
    for engine in engines:
        engine.close()


@settings(max_examples=12, deadline=None, suppress_health_check=QUIET)
@given(said=SAID, looked_for=st.sampled_from(["walrus", "PENGUIN", "象"]), mode=st.sampled_from(["exact", "words", "regex"]))
def test_no_tenant_sees_another(
    tenants: list[tuple[Engine, dict[str, list[str]]]], said: list[tuple[int, str, str]], looked_for: str, mode: Any
) -> None:
    for number, name, text in said:
        engine, told = tenants[number]
        told.setdefault(name, []).append(text)
        engine.thread(name).append({"role": "user", "content": text})
    for engine, told in tenants:
        assert {each.id for each in engine.threads(limit=100)} == set(told)
        for name in NAMES:
            assert [found.text for found in engine.thread(name).messages()] == told.get(name, [])
        pattern = f"(?i){looked_for}" if mode == "regex" else looked_for
        expected = {
            (name, seq)
            for name, texts in told.items()
            for seq, text in enumerate(texts, start=1)
            if looked_for.casefold() in text.casefold()
        }
        assert {(hit.thread_id, hit.seq) for hit in engine.grep(pattern, mode=mode, limit=500)} == expected
        for name in NAMES:
            found = engine.thread(name).grep(pattern, mode=mode, limit=500)
            assert {(name, hit.seq) for hit in found} == {each for each in expected if each[0] == name}


# 17. Concurrency

ACTS = st.sampled_from(
    ["append", "append", "append several", "revise", "delete", "compact", "snapshot", "branch", "undo", "look"]
)
WORKERS = st.lists(st.tuples(st.booleans(), st.lists(ACTS, min_size=2, max_size=6)), min_size=2, max_size=4)


def work(thread: Thread, name: str, acts: list[str]) -> list[str]:
    """Do some things to a thread, one after the other; give the texts that were acknowledged, in order."""
    stored: list[str] = []
    refs = []
    for number, act in enumerate(acts):
        if act.startswith("append"):
            said = [message(f"{name}.{number}", each, words=60) for each in range(3 if act == "append several" else 1)]
            refs += thread.append(said)
            stored += [each["content"] for each in said]
        elif act == "revise":
            said = [{**message(f"{name}.{number}", 0), "id": f"of {name}"}]
            thread.append(said)
            stored += [each["content"] for each in said]
        elif act == "delete" and refs:
            thread.delete(refs.pop().id)
        elif act == "compact":
            thread.compact(force=True)
        elif act == "snapshot":
            thread.snapshot(f"{name} {number}")
        elif act == "branch":
            branch = thread.branch(thread_id=f"{thread.id} {name} {number}")
            branch.append(message("branch", number))
        elif act == "undo":
            thread.undo()
        elif act == "look":
            context = thread.context()
            assert context.represented <= context.total
            assert thread.grep(name, mode="words").items or not stored
    return stored


@settings(max_examples=6, deadline=None, suppress_health_check=QUIET)
@given(workers=WORKERS)
def test_whoever_writes_beside_whom_nothing_is_lost_doubled_or_reordered(
    shared_url: str, engine: Engine, workers: list[tuple[bool, list[str]]]
) -> None:
    name = uuid.uuid4().hex
    with opened(shared_url, window=2_000, background=True) as other, ThreadPoolExecutor(len(workers)) as pool:
        engine.thread(name).append(message("first", 0))
        ours = [(other if elsewhere else engine).thread(name) for elsewhere, _acts in workers]
        done = [pool.submit(work, ours[n], f"w{n}", acts) for n, (_elsewhere, acts) in enumerate(workers)]
        stored = [each.result(120) for each in done]
        for each in engine.threads(limit=500):
            if each.id.startswith(name):
                assert other.thread(each.id).wait(60)
    found = engine.thread(name).messages(deleted=True)
    assert sorted(each.seq for each in found) == list(range(1, 2 + sum(map(len, stored))))
    in_order = [each.text for each in sorted(found, key=lambda each: each.seq)]
    for number, texts in enumerate(stored):
        assert [text for text in in_order if text.startswith(f"w{number}.")] == texts
    for each in engine.threads(limit=500):
        if each.id.startswith(name):
            assert engine.verify(each.id).problems == ()
