"""A summary that was damaged keeps its row, as nothing that is stored is edited: the same one, made again, stands beside it."""

from __future__ import annotations

from pathlib import Path

from lossless import Engine
from lossless.context.rendering import render_summary
from lossless.dag.summaries import load_summaries
from lossless.messages.parts import Text
from lossless.store.keys import ThreadKey
from lossless.tokens.parts import count_parts
from lossless_tampering import tamper

OWN = "namespace = 'default' AND thread_id = 't'"


def test_a_summary_made_again_beside_a_damaged_one_has_the_tokens_that_it_is_rendered_with(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'l.db'}"
    with Engine(url, window=4_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        for number in range(160):
            role = "assistant" if number % 2 else "user"
            thread.append({"role": role, "content": f"Order A-{number} costs {number} EUR. " + "word " * 40}, compact=False)
        before = thread.compact().summaries
        assert thread.undo()
    tamper(url, f"UPDATE lossless_summary SET text = 'nothing happened' WHERE {OWN}")
    with Engine(url, window=4_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        after = thread.compact().summaries
        assert after
        assert set(after).isdisjoint(before)
        problems = engine.verify().problems
        assert problems
        assert not any(id in str(problem) for id in after for problem in problems), problems
        with engine.database.read() as connection:
            made = load_summaries(connection, ThreadKey(engine.namespace, "t"), after).values()
        counted = [count_parts((Text(render_summary(summary)),), engine.counter) for summary in made]
        assert [summary.tokens for summary in made] == counted
