"""Snapshots, branches and restoring, against a model that copies lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lossless
from lossless.errors import ExistsError, LosslessError, NotFoundError

pytestmark = pytest.mark.also_sealed


def say(text: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "user", "content": text} | ({"id": id} if id is not None else {})


def texts(thread: lossless.Thread) -> list[str]:
    return [message.text for message in thread.messages()]


def fill(thread: lossless.Thread, count: int, words: int = 60, *, named: str = "") -> None:
    thread.append([say(f"{named}turn {n}: " + f"detail {n} of the plan. " * (words // 6)) for n in range(count)], compact=False)


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    with lossless.Engine(f"sqlite:///{tmp_path}/a.db", window=4_000, background=False) as engine:
        yield engine


def test_a_branch_has_the_messages_up_to_the_cut_and_both_go_their_own_way(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 10)
    other = main.branch(at=6, thread_id="other")
    main.append(say("only in main"))
    other.append(say("only in the branch"))
    assert texts(other)[:6] == texts(main)[:6]
    assert texts(other)[6:] == ["only in the branch"]
    assert [message.seq for message in other.messages()] == list(range(1, 8))
    assert texts(main)[-1] == "only in main"
    assert engine.verify().ok


def test_a_branch_is_cheap_however_long_the_thread_is(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 2_000, 6)
    main.compact(force=True)

    def rows() -> int:
        with engine.database.read() as connection:
            names = ("message", "blob", "summary", "summary_message", "summary_child", "node", "head", "head_log", "thread")
            return sum(connection.exec_driver_sql(f"SELECT count(*) FROM lossless_{name}").scalar_one() for name in names)

    before = rows()
    main.branch(at=1_234, thread_id="other")
    assert rows() - before <= 5
    assert engine.verify().ok


def test_a_branch_inside_a_summary_opens_it_along_the_cut_only(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 400, 40)
    main.compact(force=True)
    assert any(item.kind == "summary" for item in main.context().items)
    for cut in (1, 57, 200, 333, 399):
        other = main.branch(at=cut, thread_id=f"at {cut}")
        assert texts(other) == texts(main)[:cut]
        context = other.context()
        assert context.represented == context.total == cut or any(item.kind == "omission" for item in context.items)
        later = [f"turn {n}:" for n in range(cut, 400)]
        shown = "\n".join(item.text for item in context.items)
        assert not any(name in shown for name in later)
    assert engine.verify().ok


def test_branches_share_the_prefix_and_compact_independently(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 120)
    main.compact(force=True)
    other = main.branch(thread_id="other")
    fill(other, 120, named="branch ")
    view = main.context().view
    result = other.compact(force=True)
    assert result.changed
    assert main.context().view == view
    assert engine.verify().ok
    top = next(item.id for item in other.context().items if item.kind == "summary")
    assert [message.text for message in other.expand(top)]


def test_a_branch_of_a_branch_reads_through_both(engine: lossless.Engine) -> None:
    first = engine.thread("first")
    fill(first, 30, named="first ")
    second = first.branch(at=20, thread_id="second")
    fill(second, 30, named="second ")
    third = second.branch(at=35, thread_id="third")
    fourth = third.branch(at=10, thread_id="fourth")
    third.append(say("in the third"))
    fourth.append(say("in the fourth"))
    assert texts(third)[:35] == texts(second)[:35]
    assert texts(fourth)[:10] == texts(first)[:10]
    assert texts(fourth)[10:] == ["in the fourth"]
    for thread in (second, third, fourth):
        thread.compact(force=True)
    assert engine.verify().ok


def test_search_in_a_branch_finds_what_it_inherits_and_nothing_later(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    main.append([say("early ORD-1"), say("late ORD-2")])
    other = main.branch(at=1, thread_id="other")
    other.append(say("own ORD-3"))
    for mode in ("exact", "words", "regex"):
        hits = other.grep("ORD", mode=mode) if mode != "words" else other.grep("ord*", mode="words")
        assert {hit.snippet for hit in hits} == {"early ORD-1", "own ORD-3"}
        assert {hit.thread_id for hit in hits} == {"other"}
    hit = other.grep("ORD-1").items[0]
    assert other.expand(hit.message_id)[0].text == "early ORD-1"
    assert main.grep("ORD-3").items == []


def test_a_revision_after_the_cut_is_not_in_the_branch(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    main.append([say("one", "a"), say("two", "b"), say("three", "c")])
    main.append(say("two, corrected", "b"))
    other = main.branch(at=3, thread_id="other")
    assert texts(other) == ["one", "two", "three"]
    other.append(say("two, otherwise", "b"))
    assert texts(other) == ["one", "two, otherwise", "three"]
    assert texts(main) == ["one", "two, corrected", "three"]
    assert engine.verify().ok


def test_a_branch_cut_inside_parallel_results_renders_a_valid_context(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]
    main.append(
        [
            say("go"),
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c0", "content": "first"},
            {"role": "tool", "tool_call_id": "c1", "content": "second"},
        ]
    )
    other = main.branch(at=3, thread_id="other")
    from lossless.messages import OPENAI, problems

    assert problems(other.context().messages, OPENAI) == []
    other.append({"role": "tool", "tool_call_id": "c1", "content": "second, later"})
    assert [message["content"] for message in other.context().messages if message["role"] == "tool"] == ["first", "second, later"]


def test_a_snapshot_never_moves_and_its_name_is_taken(engine: lossless.Engine) -> None:
    thread = engine.thread("t")
    fill(thread, 20)
    snapshot = thread.snapshot("before", "all is well", ["good"])
    assert (snapshot.name, snapshot.seq, snapshot.tags) == ("before", 20, ("good",))
    fill(thread, 20, named="after ")
    thread.compact(force=True)
    assert thread.snapshots() == [snapshot]
    with pytest.raises(ExistsError, match="before"):
        thread.snapshot("before")
    branch = thread.branch(at="before", thread_id="b")
    assert texts(branch) == texts(thread)[:20]
    assert engine.verify().ok


def test_restoring_a_snapshot_hides_what_came_later_and_undo_shows_it_again(engine: lossless.Engine) -> None:
    thread = engine.thread("t")
    fill(thread, 5)
    thread.snapshot("five")
    fill(thread, 5, named="later ")
    everything = texts(thread)
    assert thread.restore("five")
    assert texts(thread) == everything[:5]
    assert [message.deleted for message in thread.messages(deleted=True)] == [False] * 5 + [True] * 5
    thread.append(say("and on"))
    assert texts(thread) == [*everything[:5], "and on"]
    assert thread.undo()
    assert texts(thread) == [*everything, "and on"]
    assert engine.verify().ok


def test_a_deleted_message_and_one_under_a_summary_can_be_shown_again(engine: lossless.Engine) -> None:
    thread = engine.thread("t")
    fill(thread, 200, 40)
    thread.delete("m_3")
    thread.compact(force=True)
    assert thread.restore("m_3")
    assert texts(thread)[2].startswith("turn 2:")
    top = next(item.id for item in thread.context().items if item.kind == "summary")
    assert thread.restore(top)
    with lossless.Engine(engine.url, window=100_000, background=False) as roomy:  # in a small window the summary would stand in
        assert top not in {item.id for item in roomy.thread("t").context().items}
    assert thread.restore("m_3") is False
    assert engine.verify().ok
    assert thread.undo()
    assert thread.undo()
    assert "m_3" not in {message.id for message in thread.messages()}


def test_unknown_points_and_taken_names_are_refused(engine: lossless.Engine) -> None:
    thread = engine.thread("t")
    with pytest.raises(NotFoundError):
        thread.branch()
    thread.append(say("hello"))
    for at in ("nobody", 7, -1):
        with pytest.raises(NotFoundError):
            thread.branch(at=at)
    with pytest.raises(ExistsError):
        thread.branch(thread_id="t")
    with pytest.raises(NotFoundError):
        thread.restore("sum_0123456789abcdef")


operations = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 3), st.integers(1, 12)),
        st.tuples(st.just("branch"), st.integers(0, 3), st.floats(0, 1)),
        st.tuples(st.just("compact"), st.integers(0, 3), st.booleans()),
        st.tuples(st.just("delete"), st.integers(0, 3), st.floats(0, 1)),
        st.tuples(st.just("revise"), st.integers(0, 3), st.floats(0, 1)),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(operations)
def test_branches_are_what_copies_would_be(steps: list[tuple[str, int, Any]]) -> None:
    with lossless.Engine("sqlite://", window=1_500, background=False) as engine:
        threads = [engine.thread("root")]
        threads[0].append(say("start", "root"))
        model: list[dict[int, tuple[str, str]]] = [{1: ("root", "start")}]  # place -> (id, text)
        place_of: list[dict[int, int]] = [{1: 1}]  # seq -> place
        count = 0
        for kind, which, value in steps:
            n = which % len(threads)
            thread, shown, places = threads[n], model[n], place_of[n]
            top = max(places)
            if kind == "append":
                for _ in range(value):
                    count += 1
                    top += 1
                    thread.append(say(f"message {count} " + "word " * (count % 40), f"id{count}"))
                    shown[top] = (f"id{count}", f"message {count} " + "word " * (count % 40))
                    places[top] = top
            elif kind == "branch":
                cut = 1 + int(value * (top - 1))
                if any(seq > cut and place <= cut for seq, place in places.items()) or set(range(1, cut + 1)) - set(shown):
                    continue  # the model knows neither what was revised later nor what was deleted
                threads.append(thread.branch(at=cut, thread_id=f"b{len(threads)}"))
                model.append({place: entry for place, entry in shown.items() if place <= cut})
                place_of.append({seq: place for seq, place in places.items() if seq <= cut})
            elif kind == "compact":
                thread.compact(force=value)
            else:
                place = sorted(shown)[int(value * (len(shown) - 1))] if shown else None
                if place is None or (kind == "delete" and len(shown) == 1):
                    continue
                id, text = shown[place]
                if kind == "delete":
                    thread.delete(id)
                    del shown[place]
                else:
                    thread.append(say(text + "!", id))
                    shown[place] = (id, text + "!")
                    places[top + 1] = place
            report = engine.verify()
            assert report.ok, report.problems
            for other, entries in zip(threads, model, strict=True):
                assert [(m.id, m.text) for m in other.messages()] == [entries[place] for place in sorted(entries)]
                context = other.context()
                assert context.total == len(entries)


def test_a_snapshot_is_described_by_its_id_and_by_its_name(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 3)
    first = main.snapshot("first", "before the change", ["kept"])
    second = main.snapshot("second")
    facts = main.describe(second.id)
    assert facts == main.describe("second")
    assert (facts["kind"], facts["id"], facts["name"], facts["seq"]) == ("snapshot", second.id, "second", 3)
    assert (facts["tokens"], facts["parents"]) == (second.tokens, ["first"])
    assert main.describe(first.id)["tags"] == ["kept"]
    assert set(main.describe("m_1")) >= {"kind", "id", "tokens", "sources", "parents", "depth", "completeness", "degraded"}
    with pytest.raises(NotFoundError):
        main.describe("third")


def test_a_branch_at_a_seq_that_no_message_has_is_refused(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 3)
    for at in (-1, 0, 4):
        with pytest.raises(NotFoundError):
            main.branch(at=at, thread_id="other")
    assert [info.id for info in engine.threads()] == ["main"]


def test_a_branch_cut_inside_a_leaf_compacts_although_the_leaf_reaches_beyond_the_cut(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 120)
    main.compact(force=True)
    other = main.branch(at=10, thread_id="other")
    fill(other, 120, named="branch ")
    assert other.compact(force=True).changed
    for item in other.context().items:
        if item.kind == "summary":
            assert all(other.describe(parent) for parent in other.describe(item.id)["parents"])
    assert engine.verify().ok


def test_a_branch_of_a_branch_before_a_revision_that_both_inherit_has_what_was_revised(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    main.append([say("first", id="a"), say("second", id="b")])
    main.append([say("first, revised", id="a"), say("third", id="c")])
    branched = main.branch(thread_id="branched").branch(at=2, thread_id="again")
    assert texts(branched) == ["first", "second"]
    assert engine.verify().ok


def test_branches_may_be_branched_again_and_again(engine: lossless.Engine) -> None:
    thread = engine.thread("0")
    thread.append(say("start"))
    for n in range(1, 150):
        thread = thread.branch(thread_id=str(n))
    thread.append(say("end"))
    assert texts(thread) == ["start", "end"]


def test_a_snapshot_can_not_hide_a_message_behind_its_name(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 5)
    main.append(say("the plan", id="plan"))
    main.append(say("what came after"))
    for taken in ("plan", "m_2", "m_900", "m_2.3", "sum_0123456789abcdef", "snap_0123"):
        with pytest.raises(LosslessError):
            main.snapshot(taken)
    assert main.snapshots() == []
    assert len(main.branch(at="plan").messages()) == 6
    assert main.describe("plan")["kind"] == "message"


def test_a_snapshot_keeps_its_name_when_a_message_of_that_id_comes_later(engine: lossless.Engine) -> None:
    main = engine.thread("main")
    fill(main, 3)
    snapshot = main.snapshot("release")
    main.append([say("later", id="release"), say("last")])
    assert main.describe("release")["id"] == snapshot.id
    assert len(main.branch(at="release").messages()) == 3
    assert len(main.branch(at=4).messages()) == 4


def test_a_revision_after_going_back_takes_the_place_of_the_one_that_shows_again(engine: lossless.Engine) -> None:
    thread = engine.thread("t")
    thread.append([{"id": f"m{n}", "role": "user", "content": f"message {n}"} for n in range(3)])
    thread.snapshot("before")
    thread.append({"id": "m0", "role": "user", "content": "revised"})
    thread.restore("before")
    thread.append({"id": "m0", "role": "user", "content": "revised again"})
    assert [m.payload["content"] for m in thread.messages()] == ["revised again", "message 1", "message 2"]
    thread.delete(["m2"])
    thread.append({"id": "m0", "role": "user", "content": "at last"})
    while thread.undo():
        assert [m.payload["content"] for m in thread.messages()][:2] == ["at last", "message 1"]
        assert engine.verify().problems == ()
