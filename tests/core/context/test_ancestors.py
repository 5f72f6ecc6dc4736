"""When a budget can't hold the view, ancestors that exist stand in for what it holds, before anything is left out."""

from __future__ import annotations

from lossless import Engine
from lossless_invariants import Ledger, check_context, rendered_text

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 6


def test_after_an_undo_the_summaries_that_exist_stand_in_for_their_messages() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread, ledger = engine.thread("t"), Ledger()
        for turn in range(60):
            messages = [
                {"role": "user", "content": f"Question {turn}: {LONG}"},
                {"role": "assistant", "content": f"Answer. {LONG}"},
            ]
            for ref, message in zip(thread.append(messages, compact=False), messages, strict=True):
                ledger.add(ref.id, ref.seq, message)
        before = thread.context()
        assert any(item.kind == "omission" for item in before.items)
        result = thread.compact()
        assert thread.undo()
        context = check_context(engine, thread, ledger)
        shown = {item.id for item in context.items if item.kind == "summary"}
        assert shown
        assert shown <= set(result.summaries)
        assert context.represented > before.represented
        assert context.represented == context.total
        assert not any(item.kind == "omission" for item in context.items)


def test_an_ancestor_does_not_bring_back_what_was_deleted_since() -> None:
    with Engine("sqlite://", window=8_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        secret = thread.append({"role": "user", "content": f"The code is 90210-secret, due 2026-01-01. {LONG}"}, compact=False)[0]
        for turn in range(60):
            thread.append({"role": "assistant" if turn % 2 else "user", "content": f"{turn} {LONG}"}, compact=False)
        thread.compact()
        thread.undo()
        thread.delete(secret.id)
        assert "90210-secret" not in rendered_text(thread.context())
