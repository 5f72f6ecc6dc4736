"""Selection: what is shown when a budget can't hold everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lossless.context.selection import Entry, select


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Give views in order: pins, summaries and messages, some of a unit with later ones."""
    found: list[Entry] = []
    for place in range(draw(st.integers(0, 14))):
        tokens = draw(st.integers(1, 60))
        if draw(st.booleans()):
            earlier = [entry.unit for entry in found[-3:] if entry.unit is not None]
            unit = draw(st.sampled_from([place, *earlier]))
            found.append(Entry(place, tokens, unit))
        else:
            found.append(Entry(place, tokens))
    messages = [entry for entry in found if entry.unit is not None]
    for entry in draw(st.lists(st.sampled_from(messages), max_size=2)) if messages else ():
        found[entry.place] = Entry(entry.place, entry.tokens, entry.unit, must=True)
    return found


@given(entries(), st.integers(-20, 400), st.integers(0, 100))
def test_what_must_be_shown_is_and_the_rest_fits(view: list[Entry], room: int, tail: int) -> None:
    shown = set(select(view, room, tail).shown)
    assert {entry.place for entry in view if entry.must} <= shown
    optional = sum(entry.tokens for entry in view if entry.place in shown and not entry.must)
    must = sum(entry.tokens for entry in view if entry.must)
    assert optional == 0 or optional + must <= room


@given(entries(), st.integers(0, 400), st.integers(0, 100))
def test_units_are_shown_whole_but_for_what_must_be(view: list[Entry], room: int, tail: int) -> None:
    chosen = select(view, room, tail)
    shown = {entry.place for entry in view if entry.place in chosen.shown and not entry.must}
    for entry in view:
        if entry.place in shown and entry.unit is not None:
            members = {other.place for other in view if other.unit == entry.unit and not other.must}
            assert members <= shown


@given(entries(), st.integers(0, 400), st.integers(0, 100))
def test_no_message_is_shown_past_a_gap_unless_it_must_be(view: list[Entry], room: int, tail: int) -> None:
    shown = set(select(view, room, tail).shown)
    optional = [entry.place in shown for entry in view if entry.unit is not None and not entry.must]
    assert optional == sorted(optional)


@given(entries(), st.integers(0, 100))
def test_everything_is_shown_where_there_is_room(view: list[Entry], tail: int) -> None:
    chosen = select(view, sum(entry.tokens for entry in view), tail)
    if not chosen.unfit:
        assert set(chosen.shown) == {entry.place for entry in view}
    assert chosen.unfit == ()


@given(entries(), st.integers(0, 400), st.integers(0, 100))
def test_the_newest_unit_is_shown_or_named_as_unfit(view: list[Entry], room: int, tail: int) -> None:
    chosen = select(view, room, tail)
    messages = [entry for entry in view if entry.unit is not None]
    if messages:
        assert messages[-1].place in {*chosen.shown, *chosen.unfit}
    assert set(chosen.shown).isdisjoint(chosen.unfit)


@given(entries(), st.integers(0, 400), st.integers(0, 100))
def test_a_newer_summary_is_preferred_to_an_older_one_that_costs_more(view: list[Entry], room: int, tail: int) -> None:
    shown = set(select(view, room, tail).shown)
    summaries = [entry for entry in view if entry.unit is None]
    for older in summaries:
        for newer in summaries:
            if newer.place > older.place and newer.tokens <= older.tokens and older.place in shown:
                assert newer.place in shown
