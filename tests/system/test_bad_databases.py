"""A database that is damaged or full: a clear error, or a verification that names it; never a wrong answer unsaid."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from lossless import Engine
from lossless.cli import main
from lossless.errors import LosslessError, StoreError
from lossless.store import times
from lossless_children import driver_of, fill_for_acts, message, opened

SHARE, WHOLE = 25, 600


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "a.db"
    with opened(f"sqlite:///{path}", window=2_000, background=False) as engine:
        fill_for_acts(engine)
    return path


def answers(engine: Engine) -> object:
    thread = engine.thread("t")
    context = thread.context()
    expanded = [[message.id for message in thread.expand(item.id)] for item in context.items if item.kind == "summary"]
    messages = [
        (each.seq, each.id, each.role, each.payload, each.created_at, each.deleted) for each in thread.messages(deleted=True)
    ]
    hits = [(hit.seq, hit.summary_id) for hit in thread.grep("amount", mode="words", limit=100)]
    return messages, context.messages, expanded, hits, [snapshot.view for snapshot in thread.snapshots()]


def damaged(data: bytes, moments: random.Random) -> bytes:
    found = bytearray(data)
    at = moments.randrange(len(found))
    how = moments.choice(("bit", "bit", "byte", "zeros", "end"))
    if how == "end":
        return bytes(found[:at])
    if how == "bit":
        found[at] ^= 1 << moments.randrange(8)
    elif how == "byte":
        found[at] = moments.randrange(256)
    else:
        found[at : at + 64] = bytes(len(found[at : at + 64]))
    return bytes(found)


def look_at_damage(sound: Path, folder: Path, rounds: int) -> None:
    with opened(f"sqlite:///{shutil.copy(sound, folder / 'copy.db')}", window=2_000, background=False) as engine:
        expected = answers(engine)
    moments = random.Random(11)
    for number in range(rounds):
        path = folder / f"{number}.db"
        path.write_bytes(damaged(sound.read_bytes(), moments))
        try:
            with opened(f"sqlite:///{path}", window=2_000, background=False, create=False) as engine:
                try:
                    named = not engine.verify().ok
                except LosslessError:
                    named = True
                try:
                    right = answers(engine) == expected
                except LosslessError:
                    right = True  # that it can't answer is said
                assert right or named, f"round {number}: another answer, and nothing is said about it"
        except LosslessError:
            pass
        for leftover in folder.glob(f"{number}.db*"):
            leftover.unlink()


def test_damage_anywhere_is_an_error_or_is_named(sound: Path, tmp_path: Path) -> None:
    look_at_damage(sound, tmp_path, SHARE)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_much_damage_anywhere_is_an_error_or_is_named(sound: Path, tmp_path: Path) -> None:
    look_at_damage(sound, tmp_path, WHOLE)


def test_the_command_line_says_damage_in_words(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moments = random.Random(3)
    for number in range(6):
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged(sound.read_bytes(), moments))
        for command in (["verify"], ["messages", "t"], ["doctor", "--dry-run"]):
            assert main([*command, "--url", f"sqlite:///{path}"]) in (0, 1)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert "should not happen" not in err


def test_a_full_disk_loses_nothing_acknowledged_and_goes_on_when_there_is_space(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path / 'a.db'}") as engine:
        thread, driver = engine.thread("t"), driver_of(engine)
        pages = driver.execute("PRAGMA page_count").fetchone()[0]
        driver.execute(f"PRAGMA max_page_count = {pages + 20}")
        stored = []

        def append_many() -> None:
            for number in range(1_000):
                stored.extend(thread.append(message("m", number, words=200)))

        with pytest.raises(StoreError, match="full") as caught:
            append_many()
        assert caught.value.hint
        assert stored
        assert [found.id for found in thread.messages()] == [ref.id for ref in stored]
        assert engine.verify().ok
        driver.execute("PRAGMA max_page_count = 1000000")
        stored += thread.append(message("m", 2_000))
        assert [found.id for found in thread.messages()] == [ref.id for ref in stored]
        assert engine.verify().ok


def test_a_clock_that_goes_back_changes_no_order(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(2_000_000_000_000_000, 0, -1_000_000))
    monkeypatch.setattr(times, "now", lambda: next(clock))
    with opened(url, window=2_000, background=False) as engine:
        thread = engine.thread("t")
        for number in range(60):
            thread.append(message("m", number))
        thread.compact(force=True)
        thread.snapshot("then")
        assert [found.seq for found in thread.messages()] == list(range(1, 61))
        assert thread.context().represented == 60
        assert engine.verify().ok
