"""What an edited history calls for: reasoning that no longer holds goes, and no result is lost whose call is summarised."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lossless import ActiveContext, Engine, Thread
from lossless.messages import find_profile, problems
from lossless_invariants import rendered_text

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 6


def talk(thread: Thread, turns: int) -> None:
    for turn in range(turns):
        thread.append({"role": "user", "content": f"Question {turn}: {LONG}"}, compact=False)
        thread.append({"role": "assistant", "content": f"Answer {turn}: {LONG}"}, compact=False)


def call(id: str, name: str = "look", reasoning: str = "") -> dict[str, Any]:
    thinking = [{"type": "thinking", "thinking": reasoning, "signature": "sig"}] if reasoning else []
    return {"role": "assistant", "content": [*thinking, {"type": "tool_use", "id": id, "name": name, "input": {}}]}


def result(id: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}


def thinking_in(context: ActiveContext) -> list[str]:
    blocks = [block for message in context.messages for block in message["content"] if isinstance(block, dict)]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def shown(thread: Thread, **options: Any) -> ActiveContext:
    context = thread.context(format="anthropic", **options)
    assert problems(context.messages, find_profile("anthropic"), context.system) == []
    return context


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_late_result_is_shown_as_text_when_its_call_is_under_a_summary(format: str) -> None:
    with Engine("sqlite://", window=4_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        function = {"name": "render", "arguments": "{}"}
        thread.append({"role": "user", "content": "Start the long job."}, compact=False)
        called = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        (ref,) = thread.append(called, compact=False)
        talk(thread, 30)
        assert thread.compact().changed
        assert ref.id not in {item.id for item in thread.context().items}
        (late,) = thread.append({"role": "tool", "tool_call_id": "c1", "content": "done: <b>99</b> frames"}, compact=False)
        context = thread.context(format=format)
        assert problems(context.messages, find_profile(format), context.system) == []
        text = rendered_text(context)
        assert '<late_result tool="render" call="c1"' in text
        assert "done: &lt;b&gt;99&lt;/b&gt; frames" in text
        assert context.represented == context.total
        assert any(repair.kind == "late_result" and repair.origin == late.id for repair in context.repairs)
        again = thread.sync(context.messages, format=format, compact=False)
        assert all("late_result" not in thread.expand(each.id)[0].text for each in again)


@pytest.mark.parametrize("text", ["<b>&x " * 766, "a<" * 1_136])
def test_summaries_make_room_for_a_late_result_that_grows_when_it_is_quoted(text: str) -> None:
    with Engine("sqlite://", window=4_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "Start the long job."}, compact=False)
        thread.append(call("c1"), format="anthropic", compact=False)
        talk(thread, 4)
        assert thread.compact(force=True).changed
        thread.append({"role": "user", "content": "Is it done?"}, compact=False)
        thread.append({"role": "tool", "tool_call_id": "c1", "content": text}, compact=False)
        context = thread.context()
        assert "late_result" in rendered_text(context)
        assert context.tokens <= context.budget


def test_a_result_whose_call_was_deleted_is_not_shown() -> None:
    with Engine("sqlite://", window=4_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "Go."})
        refs = thread.append([call("c1"), result("c1", "secret-result")], format="anthropic")
        thread.append({"role": "assistant", "content": "Done."})
        talk(thread, 30)
        thread.delete(refs[0].id)
        thread.compact()
        assert "secret-result" not in rendered_text(thread.context())


def test_reasoning_written_before_an_edit_is_dropped_and_what_is_written_since_stays() -> None:
    with Engine("sqlite://", window=6_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        talk(thread, 20)
        thread.append({"role": "user", "content": "Look it up."}, compact=False)
        thread.append([call("c1", reasoning="old"), result("c1", "42")], format="anthropic", compact=False)
        thread.append({"role": "assistant", "content": "It is 42."}, compact=False)
        assert thread.compact().changed
        assert thinking_in(shown(thread)) == []
        thread.append({"role": "user", "content": "And now?"}, compact=False)
        thread.append([call("c2", reasoning="new"), result("c2", "43")], format="anthropic", compact=False)
        context = shown(thread)
        assert context.status == "ok"
        assert thinking_in(context) == ["new"]
        assert json.dumps(context.messages) == json.dumps(shown(thread).messages)


def test_reasoning_before_an_edit_stays() -> None:
    with Engine("sqlite://", window=60_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": "Hi."}, call("c1", reasoning="first"), result("c1", "1")], format="anthropic")
        (ref,) = thread.append({"role": "user", "content": "Forget this line."})
        thread.append([call("c2", reasoning="second"), result("c2", "2")], format="anthropic")
        thread.append({"role": "assistant", "content": "Yes."})
        assert thinking_in(shown(thread)) == ["first", "second"]
        thread.delete(ref.id)
        assert thinking_in(shown(thread)) == ["first"]


def test_no_reasoning_is_shown_where_the_budget_leaves_something_out() -> None:
    with Engine("sqlite://", window=60_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        talk(thread, 10)
        thread.append({"role": "user", "content": "Look."})
        thread.append([call("c1", reasoning="first"), result("c1", "1")], format="anthropic")
        assert thinking_in(shown(thread)) == ["first"]
        context = shown(thread, overhead=44_000)
        assert any(item.kind == "omission" for item in context.items)
        assert thinking_in(context) == []


def test_a_late_result_is_not_taken_for_that_of_another_call_with_the_same_id_that_is_shown() -> None:
    with Engine("sqlite://", window=6_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "Look twice."})
        thread.append([call("c1"), result("c1", "the first answer")], format="anthropic")
        talk(thread, 20)
        (again,) = thread.append(call("c1", name="render"), format="anthropic")
        talk(thread, 20)
        assert thread.compact(force=True).changed
        assert thread.restore(thread.messages()[1].id)
        ids = [item.id for item in thread.context().items]
        assert thread.messages()[1].id in ids
        assert again.id not in ids
        (late,) = thread.append(result("c1", "the second answer"), format="anthropic")
        context = shown(thread)
        text = rendered_text(context)
        assert "the first answer" in text
        assert '<late_result tool="render" call="c1"' in text
        assert "the second answer" in text
        assert [repair.kind for repair in context.repairs if repair.origin == late.id] == ["late_result"]
