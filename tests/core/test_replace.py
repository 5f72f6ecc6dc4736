"""Replacing what a thread shows: like assigning to a list, but nothing leaves the store."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lossless import Engine


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def texts(thread: Any, **options: Any) -> list[str]:
    return [message.text for message in thread.messages(**options)]


def test_the_thread_shows_exactly_the_list(url: str) -> None:
    with Engine(url) as engine:
        thread = engine.thread("t")
        thread.append(said("a", "b", "c"))
        refs = thread.replace(said("a", "x"))
        assert texts(thread) == ["a", "x"]
        assert [ref.seq for ref in refs] == [1, 4]
        assert texts(thread, deleted=True) == ["a", "b", "c", "x"]
        assert engine.verify().ok


def test_an_empty_list_clears_a_thread_and_creates_none(url: str) -> None:
    with Engine(url) as engine:
        thread = engine.thread("t")
        assert thread.replace([]) == []
        assert list(engine.threads()) == []
        thread.append(said("a", "b"))
        assert thread.replace([]) == []
        assert texts(thread) == []
        thread.append(said("a"))
        assert texts(thread) == ["a"]
        assert engine.verify().ok


def test_what_was_cleared_shows_again_when_it_is_set_again_with_its_id(url: str) -> None:
    message = {"role": "user", "content": "a", "id": "mine"}
    with Engine(url) as engine:
        thread = engine.thread("t")
        (first,) = thread.append(message)
        thread.replace([])
        assert thread.append(message) == [first]
        assert texts(thread) == [], "a replay brings back nothing that was deleted"
        (second,) = thread.replace([message])
        assert (second.id, texts(thread)) == ("mine", ["a"])
        assert thread.append(message) == [second]
        thread.replace([])
        assert thread.append(message, again=True)[0].seq == second.seq + 1
        assert texts(thread) == ["a"]
        assert engine.verify().ok


def test_undo_brings_back_what_left_and_keeps_what_came(url: str) -> None:
    with Engine(url) as engine:
        thread = engine.thread("t")
        thread.append(said("a", "b"))
        thread.replace([])
        thread.append(said("c"))
        assert thread.undo()
        assert texts(thread) == ["a", "b", "c"]
        assert engine.verify().ok


def test_one_message_of_a_unit_can_be_deleted_alone(url: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    unit = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    with Engine(url, window=4_000) as engine:
        thread = engine.thread("t")
        refs = thread.append(unit)
        assert thread.delete(refs[1].id, partners=False) == (refs[1].id,)
        assert [message.role for message in thread.messages()] == ["user", "tool"]
        assert all(not message.get("tool_calls") for message in thread.context().messages)


def test_results_after_a_clear_belong_to_no_call_before_it(url: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    opening: list[dict[str, Any]] = [*said("go"), {"role": "assistant", "content": None, "tool_calls": [call]}]
    result = {"role": "tool", "tool_call_id": "c", "content": "done"}
    with Engine(url, window=4_000) as engine:
        thread = engine.thread("t")
        thread.append(opening)
        thread.replace([])
        thread.append([*opening, result])
        assert [message["role"] for message in thread.context().messages] == ["user", "assistant", "tool"]
        assert engine.verify().ok


def test_replacing_under_summaries_opens_only_what_it_must() -> None:
    with Engine("sqlite://", window=2_000, background=False) as engine:
        thread = engine.thread("t")
        thread.append(said(*(f"number {n}: " + "word " * 40 for n in range(80))))
        thread.compact(force=True)
        before = texts(thread)
        thread.replace([*said(*before[:30]), *said("new")])
        assert texts(thread) == [*before[:30], "new"]
        assert engine.verify().ok
        assert "number 50" not in str(thread.context().messages)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.sampled_from("abc"), min_size=1, max_size=3)),
        st.tuples(st.just("replace"), st.integers(0, 8), st.lists(st.sampled_from("abc"), max_size=3)),
        st.tuples(st.just("delete"), st.integers(0, 8)),
        st.tuples(st.just("compact")),
    ),
    max_size=10,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_a_thread_is_replaced_as_a_list_is(operations: list[tuple[Any, ...]]) -> None:
    filler = " and so on" * 20
    with Engine("sqlite://", window=600, background=False) as engine:
        thread, model = engine.thread("t"), []
        for name, *arguments in operations:
            if name == "append":
                thread.append(said(*(text + filler for text in arguments[0])))
                model += [text + filler for text in arguments[0]]
            elif name == "replace":
                model = model[: arguments[0]] + [text + filler for text in arguments[1]]
                thread.replace(said(*model))
            elif name == "delete" and arguments[0] < len(model):
                thread.delete(thread.messages()[arguments[0]].id, partners=False)
                del model[arguments[0]]
            elif name == "compact" and model:
                thread.compact(force=True)
            assert texts(thread) == model
        assert engine.verify().ok


def test_concurrent_replacing_ends_in_one_of_the_lists(url: str) -> None:
    with Engine(url) as engine:
        lists = [said(*(f"{name}{n}" for n in range(5))) for name in "abcd"]
        workers = [threading.Thread(target=engine.thread("t").replace, args=(each,)) for each in lists]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert texts(engine.thread("t")) in [[message["content"] for message in each] for each in lists]
        assert engine.verify().ok


@pytest.mark.parametrize("bad", [[{"role": "user"}, 7], [{"no": "role"}]])
def test_a_bad_list_changes_nothing(bad: list[Any]) -> None:
    with Engine("sqlite://") as engine:
        thread = engine.thread("t")
        thread.append(said("a"))
        with pytest.raises(Exception, match="message"):
            thread.replace(bad)
        assert texts(thread) == ["a"]
