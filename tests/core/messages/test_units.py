"""Units: an assistant message with all its results, wherever they stand; everything else by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lossless.messages import Call, Media, Opaque, Reasoning, Result, Shape, Text, Turn, UnitTracker, shape_of, units

SAID = Shape(plain=True)


def asks(*ids: str) -> Shape:
    return Shape(calls=ids)


def answers(*ids: str) -> Shape:
    return Shape(results=ids)


def test_messages_without_calls_are_units_of_their_own() -> None:
    assert units([SAID, SAID, SAID]) == [[0], [1], [2]]


def test_a_call_and_its_parallel_results_are_one_unit() -> None:
    assert units([SAID, asks("a", "b"), answers("b"), answers("a"), SAID]) == [[0], [1, 2, 3], [4]]


def test_a_late_result_belongs_to_its_call_across_other_messages() -> None:
    assert units([asks("a"), SAID, asks("b"), answers("b"), answers("a")]) == [[0, 4], [1], [2, 3]]


def test_a_reused_id_belongs_to_the_newest_call() -> None:
    assert units([asks("a"), answers("a"), asks("a"), answers("a")]) == [[0, 1], [2, 3]]


def test_reusing_an_open_id_closes_the_older_call_unanswered() -> None:
    assert units([asks("a"), asks("a"), answers("a"), answers("a")]) == [[0], [1, 2], [3]]


def test_an_id_used_twice_in_one_message_takes_two_results() -> None:
    assert units([asks("a", "a"), answers("a"), answers("a"), answers("a")]) == [[0, 1, 2], [3]]


def test_a_result_of_no_call_and_a_second_result_stand_alone() -> None:
    assert units([answers("x"), asks("a"), answers("a"), answers("a")]) == [[0], [1, 2], [3]]


def test_a_message_that_answers_and_asks_prolongs_the_unit() -> None:
    assert units([asks("a"), Shape(calls=("b",), results=("a",)), answers("b")]) == [[0, 1, 2]]


def test_units_are_read_off_turns_as_well() -> None:
    turns = [Turn("assistant", (Call("a", "f", "{}"),), "m_1"), Turn("tool", (Result("a", ()),), "m_2")]
    assert units(turns) == [[0, 1]]


shapes = st.lists(
    st.builds(
        lambda calls, results: Shape(tuple(calls), tuple(results)),
        st.lists(st.sampled_from("abc"), max_size=2),
        st.lists(st.sampled_from("abc"), max_size=2),
    ),
    max_size=15,
)


@given(shapes)
def test_every_message_is_in_exactly_one_unit(given_shapes: list[Shape]) -> None:
    groups = units(given_shapes)
    assert sorted(position for group in groups for position in group) == list(range(len(given_shapes)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    assert all(group == sorted(group) for group in groups)


@given(shapes, st.data())
def test_a_tracker_taken_up_anywhere_places_as_one_that_saw_everything(given_shapes: list[Shape], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(given_shapes)))
    whole, first = UnitTracker(), UnitTracker()
    expected = [whole.place(seq, shape) for seq, shape in enumerate(given_shapes, 1)]
    found = [first.place(seq, shape) for seq, shape in enumerate(given_shapes[:cut], 1)]
    second = UnitTracker(first.open_calls)
    found += [second.place(seq, shape) for seq, shape in enumerate(given_shapes[cut:], cut + 1)]
    assert found == expected
    assert second.open_calls == whole.open_calls


def test_open_calls_are_those_without_a_result() -> None:
    tracker = UnitTracker([("a", 3)])
    assert tracker.place(7, asks("b", "c")) == 7
    assert tracker.place(8, answers("a")) == 3
    assert tracker.place(9, answers("c")) == 7
    assert tracker.open_calls == [("b", 7)]


def test_a_shape_names_calls_and_results_in_order() -> None:
    parts = (Result("r1", (Text("x"),)), Result("r2", (Text("y"),)), Text("and"), Call("c1", "f", "{}"), Call("c2", "g", ""))
    assert shape_of(parts) == Shape(("c1", "c2"), ("r1", "r2"), plain=True)


def test_what_needs_a_closer_look_is_not_plain() -> None:
    good = Result("r", (Text("x"),))
    for parts in (
        (),
        (Text(" \n"),),
        (Text("x"), Text("")),
        (Media("image"),),
        (Opaque({}), Text("x")),
        (Reasoning("hm"), Text("x")),
        (Call("c", "", "{}"),),
        (Text("x"), good),
        (good, Text("x"), good),
        (Result("r", ()),),
        (Result("r", (Text(""),)),),
        (Result("r", (Media("image"),)),),
    ):
        assert not shape_of(parts).plain
    assert shape_of((good, good, Text("x"))).plain
