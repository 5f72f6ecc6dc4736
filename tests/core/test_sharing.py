"""Engines by address: shared within a process, found again by what was pickled, and without passwords."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from lossless import AesGcmCipher, Engine, sharing
from lossless.errors import ConfigError, StoreOpenError
from lossless.sharing import address_of, engine_at, shared_engine


def test_objects_with_the_same_address_share_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with shared_engine("sqlite:///own.db") as first:
        assert shared_engine(f"sqlite:///{tmp_path / 'own.db'}") is first
        with shared_engine("sqlite:///own.db", namespace="other") as other:
            assert other is not first
        monkeypatch.setenv("LOSSLESS_URL", "sqlite:///own.db")
        assert shared_engine() is first
    with shared_engine("sqlite:///own.db") as again:
        assert again is not first


def test_engines_in_memory_are_not_shared() -> None:
    with shared_engine("sqlite://") as first, shared_engine("sqlite://") as second:
        assert first is not second


def test_an_address_leads_to_the_same_engine_or_its_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLESS_URL", url)
    with Engine(url, window=9_000) as engine:
        address = json.loads(json.dumps(address_of(engine)))
        assert engine_at(address) is engine
        engine.thread("t").append({"role": "user", "content": "kept"})
    with engine_at(address) as again:
        assert again is not engine
        assert again.thread("t").messages()[0].text == "kept"
        assert again.budget is not None
        assert again.budget.window == 9_000


def test_an_address_holds_no_password(monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> None:
    from sqlalchemy.engine import make_url

    secret = make_url(postgres_url).set(password="correct-horse").render_as_string(hide_password=False)
    with Engine(postgres_url) as engine:
        engine.url = secret
        address = address_of(engine)
    assert "correct-horse" not in json.dumps(address)
    monkeypatch.setenv("LOSSLESS_URL", secret)
    with engine_at(address) as again:
        assert "correct-horse" in again.url
    with Engine(postgres_url) as engine:
        engine.url = f"{postgres_url}&password=correct-horse"
        assert "correct-horse" not in json.dumps(address_of(engine))


def test_what_was_in_memory_or_encrypted_says_so(tmp_path: Path) -> None:
    with Engine("sqlite://") as engine:
        gone = address_of(engine)
    with pytest.raises(ConfigError, match="in memory"):
        engine_at(gone)
    with Engine(f"sqlite:///{tmp_path / 'own.db'}", cipher=AesGcmCipher(b"k" * 32)) as engine:
        sealed = address_of(engine)
    with pytest.raises(ConfigError, match="cipher"):
        engine_at(sealed)


def test_an_address_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(StoreOpenError) as caught:
        shared_engine("no url with pass:word@")
    assert "word@" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_another_thread_opens_an_engine_opens_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening, forked = threading.Event(), threading.Event()

    def open_slowly(url: str, *, namespace: str, window: int | None) -> Engine:
        opening.set()
        assert forked.wait(30)
        return Engine(url, namespace=namespace, window=window)

    monkeypatch.setattr(sharing, "Engine", open_slowly)
    url = f"sqlite:///{tmp_path / 'a.db'}"
    other = threading.Thread(target=lambda: shared_engine(url).close())
    other.start()
    assert opening.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        forked.set()
        try:
            shared_engine(url).thread("t").append({"role": "user", "content": "from the child"})
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    forked.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0
    with Engine(url) as engine:
        assert engine.thread("t").messages()[0].text == "from the child"
