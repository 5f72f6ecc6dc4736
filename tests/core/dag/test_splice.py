"""Splicing a summary into a view: everything stays in exactly one segment, in order, or nothing is done."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail
from lossless.dag.splice import Source, Splice
from lossless.dag.view import View

TOKENS = 10  # of every message; so the token sum up to seq n is 10 n


@dataclass(frozen=True)
class Standing:
    """A view, its end, and what the made-up summaries in it stand for."""

    view: View
    next_seq: int
    under: dict[str, list[int]]

    def seqs(self, view: View) -> list[tuple[int, str]]:
        """Give every seq the view stands for, with how, in view order."""
        found: list[tuple[int, str]] = []
        for segment in view.segments:
            match segment:
                case Raw(first=first, last=last):
                    found += [(seq, "raw") for seq in range(first, last + 1)]
                case Hidden(first=first, last=last):
                    found += [(seq, "hidden") for seq in range(first, last + 1)]
                case SummaryRef(id=id):
                    found += [(seq, id) for seq in self.under[id]]
                case Tail(first=first):
                    found += [(seq, "raw") for seq in range(first, self.next_seq)]
        return found


@st.composite
def standings(draw: st.DrawFn) -> Standing:
    """Give views as edits leave them: ranges, hidden ones between, summaries, and now and then a message away from its seq."""
    segments: list[Segment] = []
    under: dict[str, list[int]] = {}
    seq = 1
    for number, kind in enumerate(draw(st.lists(st.sampled_from(["raw", "hidden", "summary"]), max_size=8))):
        last = seq + draw(st.integers(0, 4))
        if kind == "raw":
            segments.append(Raw(seq, last, TOKENS * (seq - 1), TOKENS * last))
        elif kind == "hidden":
            segments.append(Hidden(seq, last))
        else:
            id = f"sum_{number}"
            under[id] = list(range(seq, last + 1))
            segments.append(SummaryRef(id, 0, TOKENS, last - seq + 1))
        seq = last + 1
    next_seq = seq + draw(st.integers(0, 6))
    moved = draw(st.booleans()) and next_seq - seq > 2
    if moved:  # a revision at seq stands where its predecessor stood
        segments.insert(draw(st.integers(0, len(segments))), Raw(seq, seq, TOKENS * (seq - 1), TOKENS * seq))
        seq += 1
    return Standing(View((*segments, Tail(seq, TOKENS * (seq - 1)))), next_seq, under)


def sources(standing: Standing) -> list[Source | SummaryRef]:
    """Give everything in the view that could be compacted, in view order."""
    found: list[Source | SummaryRef] = []
    refs = {ref.id: ref for ref in standing.view.summaries}
    for seq, how in standing.seqs(standing.view):
        if how == "raw":
            found.append(Source(seq, TOKENS, TOKENS * seq))
        elif how != "hidden" and (not found or found[-1] != refs[how]):
            found.append(refs[how])
    return found


@given(standings(), st.data())
def test_a_summary_takes_the_place_of_any_run_of_sources(standing: Standing, data: st.DataObject) -> None:
    every = sources(standing)
    if not every:
        return
    start = data.draw(st.integers(0, len(every) - 1))
    stop = data.draw(st.integers(start + 1, len(every)))
    taken = every[start:stop]
    replaced = [seq for one in taken for seq in ([one.seq] if isinstance(one, Source) else standing.under[one.id])]
    spliced = Splice(SummaryRef("sum_new", 1, 5, len(replaced)), tuple(taken)).apply(standing.view)
    assert spliced is not None
    standing.under["sum_new"] = replaced
    before, after = standing.seqs(standing.view), standing.seqs(spliced)
    assert sorted(seq for seq, _ in after) == sorted(seq for seq, _ in before)
    assert [pair for pair in after if pair[1] == "hidden"] == [pair for pair in before if pair[1] == "hidden"]
    kept = [pair for pair in before if pair[0] not in replaced and pair[1] != "hidden"]
    assert [pair for pair in after if pair[1] not in ("hidden", "sum_new")] == kept
    assert [seq for seq, how in after if how == "sum_new"] == replaced
    gone = sum(one.tokens for one in taken)
    total = TOKENS * (standing.next_seq - 1)
    assert spliced.tokens(total) == standing.view.tokens(total) - gone + 5


@given(standings(), st.data())
def test_sources_that_do_not_stand_together_are_left_alone(standing: Standing, data: st.DataObject) -> None:
    every = sources(standing)
    if len(every) < 3:
        return
    gap = data.draw(st.integers(1, len(every) - 2))
    torn = every[:gap] + every[gap + 1 :]
    assert Splice(SummaryRef("sum_new", 1, 5, 1), tuple(torn)).apply(standing.view) is None


@given(standings())
def test_sources_that_are_not_in_the_view_are_left_alone(standing: Standing) -> None:
    splice = Splice(SummaryRef("sum_new", 1, 5, 1), (SummaryRef("sum_absent", 0, 5, 1),))
    assert splice.apply(standing.view) is None


def test_a_message_deleted_among_the_sources_stops_the_splice() -> None:
    before = View((Tail(1, 0),))
    deleted = View((Raw(1, 2, 0, 20), Hidden(3, 3), Tail(4, 30)))
    splice = Splice(SummaryRef("sum_a", 0, 5, 4), tuple(Source(seq, 10, 10 * seq) for seq in (1, 2, 3, 4)))
    assert splice.apply(before) == View((SummaryRef("sum_a", 0, 5, 4), Tail(5, 40)))
    assert splice.apply(deleted) is None


def test_a_message_deleted_beside_the_sources_does_not() -> None:
    deleted = View((Raw(1, 4, 0, 40), Hidden(5, 5), Tail(6, 50)))
    splice = Splice(SummaryRef("sum_a", 0, 5, 3), tuple(Source(seq, 10, 10 * seq) for seq in (2, 3, 4)))
    assert splice.apply(deleted) == View((Raw(1, 1, 0, 10), SummaryRef("sum_a", 0, 5, 3), Hidden(5, 5), Tail(6, 50)))
