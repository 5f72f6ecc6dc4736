"""A message longer than the summarizer's window is summarised in parts, and stands under one summary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lossless import Engine, SummarizeRequest
from lossless.compaction.piecewise import pieces_of
from lossless.tokens import counter_for
from lossless_invariants import Ledger, check_context, check_store
from lossless_scripts import Counting, honest

COUNTER = counter_for()


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=4_000) | st.text(alphabet="ab \n", max_size=4_000) | st.text(alphabet="数据🙂", max_size=2_000),
    st.integers(40, 400),
)
def test_pieces_make_up_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    pieces = pieces_of(text, limit, COUNTER)
    assert "".join(pieces) == text
    assert all(COUNTER.count(piece) <= limit for piece in pieces)


def test_no_prompt_is_longer_than_the_summarizers_window() -> None:
    script = Counting(honest)
    script.window = 4_000  # type: ignore[attr-defined]
    long = "\n".join(f"row {n}: order A-{n} was charged {n}.50 EUR on 2025-01-02" for n in range(3_000))
    with Engine("sqlite://", window=32_000, summarizer=script, background=False, load_plugins=False) as engine:
        thread, ledger = engine.thread("t"), Ledger()
        messages = [{"role": "user", "content": "Start."}, {"role": "assistant", "content": long}]
        messages += [{"role": "assistant" if n % 2 else "user", "content": f"Turn {n}."} for n in range(40)]
        for ref, message in zip(thread.append(messages, compact=False), messages, strict=True):
            ledger.add(ref.id, ref.seq, message)
        result = thread.compact()
        assert result.changed
        assert script.calls > 10
        assert all(_tokens(request) <= 4_000 for request in script.seen)
        (over,) = {thread.grep("row 2999:").items[0].summary_id}
        assert over is not None
        assert not thread.describe(result.summaries[0])["degraded"]
        check_store(engine, thread, ledger)
        check_context(engine, thread, ledger)


def _tokens(request: SummarizeRequest) -> int:
    return sum(COUNTER.count(text) for text in (request.instructions, request.previous, request.text)) + request.target_tokens
