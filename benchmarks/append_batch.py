"""Appending 1 000 messages at once, beside the least that it must cost: writing the rows, counting and analysing the texts."""

from __future__ import annotations

from pathlib import Path

from benchmarks.data import conversation
from benchmarks.harness import Benchmark, Options, Reach, Row, Spent, clock, median
from benchmarks.raw import Writer, encoder, stored_rows, terms_of, texts_of
from lossless import Engine

__all__ = ["BENCHMARK"]


def run(options: Options, folder: Path) -> list[Row]:
    """Append a batch to a thread that holds one already, in a new database each round."""
    size = options.pick(tiny=20, usual=1_000)
    rounds = [_round(folder / f"{number}", size, number) for number in range(options.pick(tiny=2, usual=9))]
    ours, control = [ours for ours, _ in rounds], [control for _, control in rounds]
    return [
        Row(
            what=f"append {size:,} messages at once, wall",
            ours=1e3 * median([spent.wall for spent in ours]),
            control=1e3 * median([spent.wall for spent in control]),
            unit="ms",
            reach=Reach(value=2.0, of="ratio"),
            note="control: raw sqlite3 writes of the same rows + tiktoken over the same texts + the search analyser",
        ),
        Row(
            what="the same, CPU",
            ours=1e3 * median([spent.cpu for spent in ours]),
            control=1e3 * median([spent.cpu for spent in control]),
            unit="ms",
            reach=Reach(value=2.0, of="ratio"),
        ),
        Row(what="messages a second", ours=size / median([spent.wall for spent in ours]), unit="/s"),
    ]


def _round(folder: Path, size: int, seed: int) -> tuple[Spent, Spent]:
    folder.mkdir()
    encode = encoder()
    messages = conversation(2 * size, seed)
    with Engine(f"sqlite:///{folder / 'ours.db'}", load_plugins=False) as engine:
        thread = engine.thread("batch")
        thread.append(messages[:size])
        before = stored_rows(folder / "ours.db", 1, size)
        with clock() as ours:
            thread.append(messages[size:])
        texts = texts_of(thread.messages())
        halves = texts_of(thread.messages(stop=size + 1)), texts_of(thread.messages(start=size + 1))
    assert len(texts.searched) == 2 * size
    after = stored_rows(folder / "ours.db", size + 1, 2 * size)
    with Writer(folder / "raw.db", like=folder / "ours.db") as writer:
        writer.write(before, terms_of(halves[0]))
        with clock() as control:
            for text in halves[1].counted:
                encode(text)
            writer.write(after, terms_of(halves[1]))
    return ours, control


BENCHMARK = Benchmark(name="append-batch", title="Append, a batch of 1 000", run=run)
