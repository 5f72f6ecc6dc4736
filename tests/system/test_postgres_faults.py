"""A PostgreSQL server that asks for passwords, is absent, or is killed: real ones, on files of their own."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.engine import make_url

from lossless import Engine
from lossless.cli import main
from lossless.errors import LosslessError, StoreOpenError
from lossless_children import opened
from lossless_postgres import Server, ServerAbsentError, own_server

RIGHT, WRONG = "right-hunter2", "wrong-hunter3"


@pytest.fixture
def own() -> Iterator[Server]:
    try:
        server = own_server()
    except ServerAbsentError as absent:
        pytest.skip(str(absent))
    yield server
    server.remove()


def test_a_server_that_asks_for_passwords_refuses_a_wrong_one_and_it_is_never_shown(
    own: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    with own.database() as url:
        own.execute(f"CREATE ROLE somebody LOGIN SUPERUSER PASSWORD '{RIGHT}'")
        own.ask_for_passwords("somebody")
        given = {
            password: make_url(url).set(username="somebody", password=password).render_as_string(hide_password=False)
            for password in (RIGHT, WRONG)
        }
        with opened(given[RIGHT]) as engine:
            engine.thread("t").append({"role": "user", "content": "hello"})
            own.execute("ALTER ROLE somebody PASSWORD 'changed-hunter4'")
            assert [found.text for found in engine.thread("t").messages()] == ["hello"], "who is in stays in"
        own.execute(f"ALTER ROLE somebody PASSWORD '{RIGHT}'")
        with pytest.raises(StoreOpenError, match="refuses the password of somebody") as caught:
            opened(given[WRONG])
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(caught.value)
        assert WRONG not in shown
        assert "password" in caught.value.hint
        without = make_url(url).set(username="somebody", password=None).render_as_string(hide_password=False)
        with pytest.raises(StoreOpenError, match="password of somebody"):
            opened(without)
        assert main(["messages", "t", "--url", given[WRONG]]) != 0
        out, err = capsys.readouterr()
        assert "refuses the password" in err
        assert WRONG not in out + err
        assert "Traceback" not in out + err


def test_a_server_that_is_absent_when_an_engine_is_opened_is_named(own: Server) -> None:
    with own.database() as url:
        opened(url).close()
        own.stop()
        try:
            with pytest.raises(StoreOpenError, match="can't reach") as caught:
                opened(url)
            assert "server" in caught.value.hint
        finally:
            own.start()
        with opened(url) as engine:
            assert engine.verify().ok


def test_a_server_that_is_killed_under_load_has_all_it_acknowledged_and_is_found_again(own: Server) -> None:
    acknowledged: list[list[str]] = [[] for _ in range(4)]
    failed: list[str] = []
    end = threading.Event()
    with own.database() as url, opened(url, window=4_000, background=False) as engine:

        def go_on(caller: int) -> None:
            thread, number = engine.thread("shared" if caller % 2 else f"own {caller}"), 0
            while not end.is_set():
                said = f"caller {caller} number {number} " + "and so on " * 20
                try:
                    thread.append({"role": "user", "content": said})
                except LosslessError as error:
                    failed.append(f"{error!r} because of {error.__cause__!r}")
                else:
                    acknowledged[caller].append(said)
                number += 1

        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(go_on, caller) for caller in range(4)]
            try:
                time.sleep(1)
                own.kill()
                before = [len(each) for each in acknowledged]
                own.start()
                deadline = time.monotonic() + 20
                while time.monotonic() < deadline and not all(map(_more, acknowledged, before)):
                    time.sleep(0.1)
            finally:
                end.set()
            for one in running:
                one.result(60)
        assert not failed, "\n".join(failed)
        assert all(map(_more, acknowledged, before)), "a caller did not get through again by itself"
        _check(engine, acknowledged)


def _more(acknowledged: list[str], before: int) -> bool:
    return len(acknowledged) > before + 1


def _check(engine: Engine, acknowledged: list[list[str]]) -> None:
    stored = [found.text for name in ("shared", "own 0", "own 2") for found in engine.thread(name).messages(deleted=True)]
    assert len(stored) == len(set(stored)), "a write was stored twice"
    for each in acknowledged:
        assert set(each) <= set(stored), "an acknowledged write is gone"
        assert [said for said in stored if said in set(each)] == each
    assert engine.verify().ok
