"""Writers that come while a commit is on its way share the next one, and none of them harms another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from lossless.errors import ClosedError, LosslessError, NotFoundError, StoreError
from lossless.store.connection import open_database
from lossless.store.gathering import Gathering
from lossless.store.sqlite import SqliteDatabase, _Ticket

CALLERS = 24


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = open_database(f"sqlite:///{tmp_path / 'group.db'}", durability="normal")
    assert isinstance(opened, SqliteDatabase)
    opened.write(lambda connection: connection.execute(text("CREATE TABLE noted (name TEXT PRIMARY KEY)")))
    yield opened
    opened.close()


def note(name: str) -> Callable[[Connection], str]:
    def job(connection: Connection) -> str:
        connection.execute(text("INSERT INTO noted (name) VALUES (:name)"), {"name": name})
        return name

    return job


def noted(database: SqliteDatabase) -> set[str]:
    with database.read() as connection:
        return set(connection.execute(text("SELECT name FROM noted")).scalars())


class Held:
    """A writer that holds the lead until it is let go, so that others have to queue up behind it."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._holding, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=database.write, args=(self._hold,))
        self._thread.start()
        assert self._holding.wait(10)

    def _hold(self, connection: Connection) -> None:
        self._holding.set()
        assert self._go.wait(10)

    def let_go_when(self, waiting: int) -> None:
        deadline = time.monotonic() + 10
        while len(self._database._queue) < waiting:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        self._go.set()
        self._thread.join(10)


def test_those_who_wait_share_one_commit(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[int] = []
    commit = SqliteDatabase._commit
    monkeypatch.setattr(SqliteDatabase, "_commit", lambda self, tickets: (groups.append(len(tickets)), commit(self, tickets))[1])
    held = Held(database)
    names = [f"n{number}" for number in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS) as pool:
        waiting = [pool.submit(database.write, note(name)) for name in names]
        held.let_go_when(CALLERS)
        assert [found.result(10) for found in waiting] == names
    assert groups == [1, CALLERS]
    assert noted(database) == set(names)


def test_a_job_that_fails_leaves_nothing_behind_and_harms_nobody(database: SqliteDatabase) -> None:
    def refuse(connection: Connection) -> None:
        note("half done")(connection)
        raise NotFoundError("no such thing")

    def collide(connection: Connection) -> None:
        note("twice")(connection)
        note("twice")(connection)

    held = Held(database)
    with ThreadPoolExecutor(CALLERS) as pool:
        good = [pool.submit(database.write, note(f"n{number}")) for number in range(CALLERS - 2)]
        bad, worse = pool.submit(database.write, refuse), pool.submit(database.write, collide)
        held.let_go_when(CALLERS)
        assert isinstance(bad.exception(10), NotFoundError)
        assert isinstance(worse.exception(10), StoreError)
        assert {found.result(10) for found in good} == {f"n{number}" for number in range(CALLERS - 2)}
    assert noted(database) == {f"n{number}" for number in range(CALLERS - 2)}


def test_an_interrupt_of_the_leader_does_not_reach_the_others(database: SqliteDatabase) -> None:
    interrupted = threading.Event()

    def interrupt(connection: Connection) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    held = Held(database)
    with ThreadPoolExecutor(CALLERS) as pool:
        first = pool.submit(database.write, interrupt)
        while not database._queue:
            time.sleep(0.001)
        others = [pool.submit(database.write, note(f"n{number}")) for number in range(CALLERS - 1)]
        held.let_go_when(CALLERS)
        assert isinstance(first.exception(10), KeyboardInterrupt)
        assert {found.result(10) for found in others} == {f"n{number}" for number in range(CALLERS - 1)}
    assert database.write(note("after")) == "after"


def test_one_who_is_interrupted_while_waiting_hands_the_lead_on(database: SqliteDatabase) -> None:
    class Impatient:
        def acquire(self) -> None:
            with database._guard:
                ticket = database._queue[0]
            while not ticket.leads:
                time.sleep(0.001)
            raise KeyboardInterrupt

        def release(self) -> None:
            pass

    held = Held(database)

    def give_up() -> None:
        ticket = _Ticket(note("given up"))
        ticket.turn = Impatient()  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            database._queue_up(ticket)

    with ThreadPoolExecutor(2) as pool:
        left = pool.submit(give_up)
        while not database._queue:
            time.sleep(0.001)
        patient = pool.submit(database.write, note("patient"))
        held.let_go_when(2)
        left.result(10)
        assert patient.result(10) == "patient"
    assert noted(database) == {"patient"}


def test_a_write_inside_a_write_is_refused_in_words(database: SqliteDatabase) -> None:
    with pytest.raises(StoreError, match="inside another"):
        database.write(lambda _connection: database.write(note("inner")))
    assert database.write(note("after")) == "after"


def test_those_who_wait_while_the_database_is_closed_are_told_so(database: SqliteDatabase) -> None:
    held = Held(database)
    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(database.write, note("late"))
        while not database._queue:
            time.sleep(0.001)
        database._closed = True  # as when close() gets hold of the writing connection before the next leader does
        held.let_go_when(1)
        assert isinstance(late.exception(10), ClosedError)
    database._closed = False
    assert noted(database) == set()


def test_many_callers_lose_nothing(database: SqliteDatabase) -> None:
    def call(caller: int) -> None:
        for number in range(10):
            name = f"{caller}-{number}"
            if number % 7 == 3:
                with pytest.raises(LosslessError):
                    database.write(lambda connection, name=name: (note(name)(connection), note(name)(connection)))
            else:
                database.write(note(name))

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(call, range(CALLERS)))
    assert noted(database) == {f"{c}-{n}" for c in range(CALLERS) for n in range(10) if n % 7 != 3}


def test_a_leader_waits_for_as_many_as_shared_the_commit_before() -> None:
    gathering, guard, queue = Gathering(), threading.Lock(), [1]
    gathering.committed(CALLERS, 60.0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gathering.wait, guard, queue)
        for _ in range(CALLERS - 2):
            with guard:
                queue.append(1)
                gathering.noticed(len(queue))
        assert not waiting.done()
        with guard:
            queue.append(1)
            gathering.noticed(len(queue))
        waiting.result(10)
        pool.submit(gathering.wait, guard, queue).result(10)  # they are there already


def test_a_leader_waits_no_longer_than_a_commit_takes_and_not_at_all_after_a_lone_write() -> None:
    gathering, guard = Gathering(), threading.Lock()
    with ThreadPoolExecutor(1) as pool:
        gathering.committed(CALLERS, 0.01)
        pool.submit(gathering.wait, guard, [1]).result(10)
        gathering.committed(1, 60.0)
        pool.submit(gathering.wait, guard, [1]).result(10)
