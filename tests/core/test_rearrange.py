"""Rearranging what a thread shows: like assigning to a slice of a list that nobody else touches meanwhile."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lossless import Engine, MessageRef, Shown
from lossless.errors import MessageError, NotFoundError


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def texts(thread: Any, **options: Any) -> list[str]:
    return [message.text for message in thread.messages(**options)]


def inserting(at: int, *new: str) -> Any:
    return lambda shown: [*shown.refs[:at], *said(*new), *shown.refs[at:]]


@pytest.mark.also_sealed
def test_messages_are_put_in_between_moved_revised_and_left_out(url: str) -> None:
    with Engine(url, window=4_000) as engine:
        thread = engine.thread("t")
        assert thread.rearrange(lambda shown: shown.refs) == []
        assert list(engine.threads()) == []
        thread.rearrange(inserting(0, "a", "c"))
        refs = thread.rearrange(inserting(1, "b"))
        assert texts(thread) == ["a", "b", "c"]
        assert [ref.id for ref in refs] == ["m_1", "m_3", "m_2"], "a message that is stored once more keeps its id"
        assert thread.refs() == refs
        assert thread.rearrange(lambda shown: shown.refs) == refs
        assert len(thread.views()) == 2, "nothing was moved, so the view stays"
        thread.rearrange(lambda shown: [*shown.refs[:1], {"role": "user", "content": "B", "id": "m_3"}, *shown.refs[2:]])
        assert texts(thread) == ["a", "B", "c"]
        thread.rearrange(lambda shown: reversed(shown.refs))
        assert texts(thread) == ["c", "B", "a"]
        thread.rearrange(lambda shown: [ref for ref in shown.refs if shown.read([ref])[0].text != "B"])
        assert texts(thread) == ["c", "a"] == [message["content"] for message in thread.context().messages]
        assert thread.undo()
        assert texts(thread) == ["c", "B", "a"]
        thread.rearrange(lambda shown: ())
        assert texts(thread) == []
        assert engine.verify().ok


def test_what_can_not_be_shown_changes_nothing(url: str) -> None:
    with Engine(url) as engine:
        thread = engine.thread("t")
        thread.append(said("a", "b"))
        with pytest.raises(NotFoundError, match="m_7"):
            thread.rearrange(lambda shown: [MessageRef("m_7", 7), *shown.refs])
        with pytest.raises(MessageError):
            thread.rearrange(lambda shown: [*shown.refs, {"no": "role"}])
        with pytest.raises(ZeroDivisionError):
            thread.rearrange(lambda shown: shown.refs[: 1 // 0])
        assert texts(thread) == ["a", "b"]
        assert engine.verify().ok


def test_what_is_left_of_an_erased_message_keeps_its_place(url: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    unit: list[dict[str, Any]] = [
        *said("go"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a secret"},
    ]
    with Engine(url, window=4_000) as engine:
        thread = engine.thread("t")
        refs = thread.append(unit)
        engine.erase("t", [refs[2].id], reason="asked for")
        thread.rearrange(inserting(1, "wait"))
        assert [message.role for message in thread.messages()] == ["user", "user", "assistant", "tool"]
        assert texts(thread)[-1] == "[this result was erased]"
        assert thread.messages()[-1].erased
        thread.append({**unit[2], "id": refs[2].id})
        assert len(texts(thread)) == 4, "it does not come back"
        assert engine.verify().ok
        assert [message["role"] for message in thread.context().messages][-2:] == ["assistant", "tool"]


def test_a_branch_is_rearranged_and_its_origin_is_not(url: str) -> None:
    with Engine(url) as engine:
        thread = engine.thread("t")
        thread.append(said("a", "b", "c"))
        branch = thread.branch(at=2)
        branch.rearrange(inserting(1, "new"))
        assert texts(branch) == ["a", "new", "b"]
        assert texts(thread) == ["a", "b", "c"]
        assert engine.verify().ok


def test_many_who_insert_and_take_at_once_each_do_it_once(url: str) -> None:
    taken: list[str] = []

    def insert(name: str) -> None:
        for n in range(4):
            engine.thread("t").rearrange(inserting(1, f"{name}{n}"))
            engine.thread("t").append(said(f"{name}{n} after"))

    def take() -> None:
        for _ in range(6):
            found: list[str] = []

            def decide(shown: Shown, found: list[str] = found) -> list[MessageRef]:
                found[:] = [message.text for message in shown.read(shown.refs[1:2])]
                return [*shown.refs[:1], *shown.refs[2:]]

            engine.thread("t").rearrange(decide)
            taken.extend(found)

    with Engine(url) as engine:
        engine.thread("t").append(said("first"))
        workers = [threading.Thread(target=insert, args=(name,)) for name in "abc"]
        workers += [threading.Thread(target=take) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        left = texts(engine.thread("t"))
        assert left[0] == "first"
        assert sorted([*left[1:], *taken]) == sorted(
            f"{name}{n}{end}" for name in "abc" for n in range(4) for end in ("", " after")
        )
        assert engine.verify().ok


def test_what_comes_after_a_call_that_left_unanswered_verifies(url: str) -> None:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ("c0", "c1")]
    unit = [*said("go"), {"role": "assistant", "content": None, "tool_calls": calls}]
    results = [{"role": "tool", "tool_call_id": id, "content": f"of {id}"} for id in ("c0", "c1")]
    with Engine(url, window=2_000, background=False) as engine:
        taken, set_anew = engine.thread("taken"), engine.thread("set anew")
        for thread in (taken, set_anew):
            thread.append(unit)
        taken.rearrange(lambda shown: shown.refs[:1])
        taken.rearrange(lambda shown: [*said("first"), *shown.refs, results[0]])
        set_anew.replace([*said("go"), results[0]])
        for thread in (taken, set_anew):
            thread.append(results[1])
            thread.append(said(*(f"{n} {'word ' * 60}" for n in range(40))))
            assert thread.context().status == "ok"
            assert "summary" in [item.kind for item in thread.context().items], "nothing waits for the call"
        assert engine.verify().ok


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["append", "insert", "take", "shuffle", "compact"]), max_size=12), st.integers())
def test_a_thread_is_rearranged_as_a_list_is(operations: list[str], seed: int) -> None:
    filler, chance = " and so on" * 20, random.Random(seed)
    with Engine("sqlite://", window=600, background=False) as engine:
        thread, model = engine.thread("t"), []
        for n, name in enumerate(operations):
            at, before = chance.randint(0, len(model)), list(model)
            if name == "append":
                model.append(f"{n}{filler}")
                thread.append(said(model[-1]))
            elif name == "insert":
                model.insert(at, f"{n}{filler}")
                thread.rearrange(inserting(at, f"{n}{filler}"))
            elif name == "take" and before:
                del model[at : at + 2]
                thread.rearrange(lambda shown, at=at: [*shown.refs[:at], *shown.refs[at + 2 :]])
            elif name == "shuffle":
                order = chance.sample(range(len(model)), len(model))
                model = [model[place] for place in order]
                thread.rearrange(lambda shown, order=order: [shown.refs[place] for place in order])
            elif name == "compact" and model:
                thread.compact(force=True)
            assert texts(thread) == model
        assert engine.verify().ok
