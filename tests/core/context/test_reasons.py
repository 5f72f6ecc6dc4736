"""What an exhausted context says of why it is exhausted."""

from __future__ import annotations

import lossless


def exhausted(*contents: tuple[str, str]) -> lossless.ActiveContext:
    with lossless.Engine("sqlite://", window=2_000, background=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": role, "content": content} for role, content in contents], compact=False)
        context = thread.context()
    assert context.status == "exhausted"
    return context


def test_a_system_prompt_that_is_too_long_is_named_as_the_reason() -> None:
    context = exhausted(("system", "rule " * 5_000), ("user", "Hello"))
    assert "m_1" in context.reason
    assert str(context.items[0].tokens) in context.reason
    assert f"{context.budget} are left" in context.reason


def test_a_request_that_is_too_long_is_named_as_the_reason() -> None:
    context = exhausted(("system", "Be brief."), ("user", "word " * 5_000))
    assert "m_2" in context.reason
    assert f"{context.budget} are left" in context.reason
