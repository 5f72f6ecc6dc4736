"""Edits: what a history that was edited calls for further on: reasoning that no longer holds, results whose call is not shown.

Several providers bind a signature to everything before a reasoning block. So reasoning that was written before an edit, and that
stands after it, is not shown; what was written since has seen the edit and stays. Where the budget alone leaves something out,
the next context may leave out something else, and no reasoning is shown at all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from lossless.context.pieces import Piece, Scene
from lossless.context.rendering import late_result_text
from lossless.dag.heads import swung_at
from lossless.dag.placing import is_hidden
from lossless.messages import Call, Message, Part, Reasoning, Repair, Result, Text, Turn, without_reasoning
from lossless.messages.units import shape_of
from lossless.store.corrections import corrections_between
from lossless.store.read import facts_between, facts_of, unit_members
from lossless.tokens.parts import count_parts

__all__ = ["Edited", "after_edits"]


@dataclass(frozen=True, slots=True)
class Edited:
    """Where a rendered history begins to differ from what was said.

    Attributes:
        start: index of the first piece after an edit of the view, or None.
        cut: whether the budget left out or shortened something.
    """

    start: int | None = None
    cut: bool = False


def after_edits(scene: Scene, pieces: Sequence[Piece], edited: Edited) -> tuple[list[Piece], list[Repair]]:
    """Give pieces as they can be shown after edits, and what was done to them; the same pieces if nothing was edited."""
    if edited.start is None and not edited.cut:
        return list(pieces), []
    repairs: list[Repair] = []
    shown = _without_broken_reasoning(scene, pieces, edited, repairs)
    return _with_late_results(scene, shown, repairs), repairs


def _without_broken_reasoning(scene: Scene, pieces: Sequence[Piece], edited: Edited, repairs: list[Repair]) -> list[Piece]:
    start = 0 if edited.cut else edited.start or 0
    if not any(_reasons(piece.turn) for piece in pieces[start:]):
        return list(pieces)
    until = None if edited.cut else swung_at(scene.connection, scene.key, scene.generation)
    kept = list(pieces[:start])
    gone = _without_recall(scene, pieces)
    for piece in pieces[start:]:
        seq = piece.item.first_seq
        written_since = until is not None and seq >= until and not any(seq in turn for turn in gone)
        if written_since or not _reasons(piece.turn):
            kept.append(piece)
            continue
        repairs.append(Repair("reasoning", piece.turn.origin, "withheld: what stands before it was edited since"))
        reasoning = [part for part in piece.turn.parts if isinstance(part, Reasoning)]
        tokens = piece.item.tokens - count_parts(reasoning, scene.counter) + count_parts((), scene.counter)
        turn = without_reasoning(piece.turn) or replace(piece.turn, parts=(), payload=None, shape=None)
        kept.append(Piece(replace(piece.item, tokens=tokens), turn, piece.mark))
    return kept


def _without_recall(scene: Scene, pieces: Sequence[Piece]) -> list[range]:
    """Give the turns that were made beside a recall that is shown no more."""
    seqs = [piece.item.first_seq for piece in pieces if piece.item.kind == "message"]
    noted = corrections_between(scene.connection, scene.key, min(seqs), max(seqs)) if seqs else []
    turns: list[range] = []
    for corrected, meant in noted:
        later = (fact.seq for fact in facts_between(scene.connection, scene.key, corrected + 1, max(seqs)) if fact.request)
        following = next(later, None)
        if meant and following is not None:
            turns.append(range(corrected, following))
    return turns


def _reasons(turn: Turn) -> bool:
    return turn.role == "assistant" and any(isinstance(part, Reasoning) for part in turn.parts)


def _with_late_results(scene: Scene, pieces: Sequence[Piece], repairs: list[Repair]) -> list[Piece]:
    """Show a result as text where its call is under a summary or left out; a call that was deleted took its results along.

    Call ids may be used again, so where a result does not answer a call that stands between it and the last thing that is not
    shown, the store is asked whose it is.
    """
    callers: set[int] = set()
    waiting: set[str] = set()
    shown: list[Piece] = []
    for piece in pieces:
        if piece.item.kind in ("summary", "omission"):
            waiting.clear()
        shape = piece.turn.shape or shape_of(piece.turn.parts)
        if shape.results:
            if not waiting.issuperset(shape.results):
                piece = _told(scene, piece, callers, repairs)
            waiting.difference_update(shape.results)
        if shape.calls:
            waiting.update(shape.calls)
            callers.add(piece.item.first_seq)
        shown.append(piece)
    return shown


def _told(scene: Scene, piece: Piece, callers: Collection[int], repairs: list[Repair]) -> Piece:
    caller = _caller(scene, piece.item.first_seq)
    if caller is None or caller.seq in callers:
        return piece
    names = {part.id: part.name for part in caller.parts if isinstance(part, Call)}
    parts: list[Part] = []
    for part in piece.turn.parts:
        if not isinstance(part, Result) or part.call_id not in names:
            parts.append(part)
            continue
        repairs.append(Repair("late_result", piece.turn.origin, f"shown as text: the call {part.call_id!r:.80} is not shown"))
        tool = names[part.call_id] or part.name or "a tool"
        parts.append(Text(late_result_text(part.text, tool=tool, call_id=part.call_id, message_id=piece.turn.origin)))
        parts.extend(replace(inner, block=None) for inner in part.parts if not isinstance(inner, Text))
    if len(parts) == len(piece.turn.parts) and all(one is other for one, other in zip(parts, piece.turn.parts, strict=True)):
        return piece
    role = piece.turn.role if any(isinstance(part, Result) for part in parts) else "user"
    turn = replace(piece.turn, role=role, parts=tuple(parts), payload=None, shape=None)
    tokens = count_parts(turn.parts, scene.counter, name=turn.name)
    return Piece(replace(piece.item, tokens=tokens), turn, piece.mark)


def _caller(scene: Scene, seq: int) -> Message | None:
    """Give the message whose call a result answers, if it belongs to the view."""
    (fact,) = facts_of(scene.connection, scene.key, [seq])
    if fact.unit == seq:
        return None
    callers = [
        member.seq
        for member in unit_members(scene.connection, scene.key, fact.unit)
        if member.role == "assistant" and not is_hidden(scene.view, member.seq)
    ]
    found = scene.reader.by_seq(scene.connection, scene.key, callers[-1:])
    return found[0] if found else None
