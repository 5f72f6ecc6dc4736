"""Repairs between calls and results: each call with its one result directly after it, each result with its call, ids unique."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lossless.messages.cleaning import clean_result
from lossless.messages.formats import Turn
from lossless.messages.parts import Call, Part, Result, Text
from lossless.messages.profiles import Profile, Repair

__all__ = ["pair"]

_NOT_EXECUTED = "[not executed: the call was interrupted, and no result of it was recorded]"
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")

FindResult = Callable[[str], Result | None]


@dataclass(slots=True)
class _Asked:
    """A call while its answer is looked for: its turn, the id to show, the result, and where that stands as (turn, part)."""

    turn: int
    call: Call
    id: str
    result: Result | None = None
    place: tuple[int, int] = (-1, -1)


def pair(turns: Sequence[Turn], profile: Profile, find_result: FindResult | None, repairs: list[Repair]) -> list[Turn]:
    """Put every result directly after its call, in the order of the calls; the same turns if they stand so already.

    A stored result is preferred to an invented one, wherever it stands among the turns, then wherever ``find_result`` finds it.
    """
    asked = _match(turns, repairs)
    _rename(asked, profile, turns, repairs)
    by_turn: dict[int, list[_Asked]] = {}
    for each in asked:
        by_turn.setdefault(each.turn, []).append(each)
    _note_moves(turns, by_turn, repairs)
    return _lay_out(turns, by_turn, profile, find_result, repairs)


def _match(turns: Sequence[Turn], repairs: list[Repair]) -> list[_Asked]:
    """Give each result to the newest open call with its id. Of two results of one call the first counts."""
    asked: list[_Asked] = []
    waiting: dict[str, list[_Asked]] = {}
    for index, turn in enumerate(turns):
        for position, part in enumerate(turn.parts):
            if isinstance(part, Call):
                each = _Asked(index, part, part.id)
                asked.append(each)
                same = waiting.get(part.id)
                if same and same[0].turn == index:
                    same.append(each)
                else:
                    waiting[part.id] = [each]
            elif isinstance(part, Result):
                same = waiting.get(part.call_id)
                if same:
                    answered = same.pop(0)
                    answered.result, answered.place = part, (index, position)
                else:
                    known = same is not None
                    kind = "duplicate_result" if known else "orphan_result"
                    why = "was answered already" if known else "is not among the messages"
                    repairs.append(Repair(kind, turn.origin, f"withheld: the call {part.call_id!r:.80} {why}"))
    return asked


def _rename(asked: Sequence[_Asked], profile: Profile, turns: Sequence[Turn], repairs: list[Repair]) -> None:
    """Give each call an id that the provider takes and no earlier call has; what comes later never changes an earlier id."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    for each in asked:
        given = each.call.id
        wanted = given if profile.id_rule.fullmatch(given) else _fitting(given, profile)
        each.id = wanted
        while each.id in used:
            counts[wanted] = counts.get(wanted, 1) + 1
            suffix = f"_{counts[wanted]}"
            each.id = wanted[: profile.max_id - len(suffix)] + suffix
        used.add(each.id)
        if each.id != given:
            repairs.append(Repair("renamed_call", turns[each.turn].origin, f"{given!r:.80} shown as {each.id}"))


def _fitting(given: str, profile: Profile) -> str:
    short = _FOREIGN.sub("_", given) or "call"
    if len(short) <= profile.max_id:
        return short
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{short[: profile.max_id - 13]}_{digest}"


def _note_moves(turns: Sequence[Turn], by_turn: dict[int, list[_Asked]], repairs: list[Repair]) -> None:
    """Record the results that don't stand directly after their call, in the order of the calls."""
    others = [0]  # parts that are no results, before each turn
    for turn in turns:
        others.append(others[-1] + sum(not isinstance(part, Result) for part in turn.parts))
    for index, asked in by_turn.items():
        last = (index, len(turns[index].parts))
        for each in asked:
            if each.result is None:
                continue
            source, position = each.place
            between = sum(not isinstance(part, Result) for part in turns[source].parts[:position])
            if each.place < last or others[source] + between > others[index + 1]:
                repairs.append(Repair("moved_result", turns[source].origin, f"{each.id} shown directly after its call"))
            last = max(last, each.place)


def _lay_out(
    turns: Sequence[Turn],
    by_turn: dict[int, list[_Asked]],
    profile: Profile,
    find_result: FindResult | None,
    repairs: list[Repair],
) -> list[Turn]:
    out: list[Turn] = []
    done: set[int] = set()
    for index, turn in enumerate(turns):
        if index in done:
            continue
        asked = by_turn.get(index, [])
        end = _end_in_place(turns, index, asked, profile)
        if end:
            out.extend(turns[index:end])
            done.update(range(index + 1, end))
            continue
        rest = _without_results(turn, asked, profile, repairs)
        if rest is not None:
            out.append(rest)
        out.extend(_answers(turns, asked, done, profile, find_result, repairs))
    return out


def _end_in_place(turns: Sequence[Turn], index: int, asked: Sequence[_Asked], profile: Profile) -> int:
    """Tell whether a turn and its results stand as they must: the position after the last of them, or 0."""
    if any(isinstance(part, Result) for part in turns[index].parts):
        return 0
    if not asked:
        return 0 if turns[index].role == "tool" else index + 1
    if any(each.id != each.call.id or each.result is None for each in asked):
        return 0
    expected = [each.place for each in asked]
    found: list[tuple[int, int]] = []
    end = index + 1
    while len(found) < len(expected) and end < len(turns) and turns[end].role in ("tool", "user"):
        parts = turns[end].parts
        results = [position for position, part in enumerate(parts) if isinstance(part, Result)]
        if not results or results[-1] != len(results) - 1:
            return 0
        found.extend((end, position) for position in results)
        alone = len(results) == len(parts)
        if not alone and (len(found) < len(expected) or profile.results_alone or turns[end].role == "tool"):
            return 0
        end += 1
    return end if found == expected else 0


def _without_results(turn: Turn, asked: Sequence[_Asked], profile: Profile, repairs: list[Repair]) -> Turn | None:
    """Give what is left of a turn once its results stand elsewhere, its calls under the ids to show."""
    ids = iter(asked)
    parts: list[Part] = []
    changed = False
    for part in turn.parts:
        if isinstance(part, Result):
            changed = True
            continue
        if isinstance(part, Call) and (shown := next(ids).id) != part.id:
            part = replace(part, id=shown)
            changed = True
        parts.append(part)
    if not parts:
        return None
    role = "user" if turn.role == "tool" else turn.role
    if role != turn.role or (changed and profile.results_alone and not asked):
        repairs.append(Repair("results_apart", turn.origin, "what else its message says is shown apart from the results"))
    if not changed and role == turn.role:
        return turn
    return replace(turn, role=role, parts=tuple(parts), payload=None, shape=None)


def _answers(
    turns: Sequence[Turn],
    asked: Sequence[_Asked],
    done: set[int],
    profile: Profile,
    find_result: FindResult | None,
    repairs: list[Repair],
) -> list[Turn]:
    """Write the results of one turn's calls; a turn that holds just these results, in their order, stands as it is."""
    out: list[Turn] = []
    position = 0
    while position < len(asked):
        each = asked[position]
        if each.result is None:
            out.append(_invented(each, turns[each.turn].origin, profile, find_result, repairs))
            position += 1
            continue
        source = each.place[0]
        count = len(turns[source].parts)
        group = asked[position : position + count]
        untouched = all(other.place == (source, n) and other.id == other.call.id for n, other in enumerate(group))
        if len(group) == count and untouched and turns[source].role in ("tool", "user"):
            out.append(turns[source])
            done.add(source)
            position += count
            continue
        result = replace(each.result, call_id=each.id)
        out.append(Turn("tool", (result,), turns[source].origin, name=turns[source].name))
        position += 1
    return out


def _invented(each: _Asked, origin: str, profile: Profile, find_result: FindResult | None, repairs: list[Repair]) -> Turn:
    """Write the answer of a call that none of the turns answers: the stored one if it can be found, else that there is none."""
    found = find_result(each.call.id) if find_result is not None else None
    if found is not None:
        repairs.append(Repair("found_result", origin, f"{each.id} is stored elsewhere and shown after its call"))
        found = clean_result(found, origin, profile, repairs)
        return Turn("tool", (replace(found, call_id=each.id),), origin)
    repairs.append(Repair("missing_result", origin, f"{each.id} is shown as not executed"))
    return Turn("tool", (Result(each.id, (Text(_NOT_EXECUTED),), name=each.call.name),), origin)
