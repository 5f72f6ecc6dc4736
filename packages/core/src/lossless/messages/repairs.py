"""Repair: turns as a provider takes them, with as little changed as its rules allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lossless.messages.cleaning import clean, end_well
from lossless.messages.formats import Turn
from lossless.messages.notes import system_note
from lossless.messages.pairing import FindResult, pair
from lossless.messages.parts import Text
from lossless.messages.profiles import Profile, Repair
from lossless.messages.units import shape_of

__all__ = ["Repaired", "is_valid", "repair"]

_PASSES = 8  # one repair may call for another: a message withheld makes its neighbours adjacent. Three passes were the most seen
_OPENING = "[The conversation begins with the assistant's message.]"
_SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Repaired:
    """Turns that meet a profile's rules, and what was done to them; nothing was if ``repairs`` is empty."""

    turns: tuple[Turn, ...]
    repairs: tuple[Repair, ...] = ()


def repair(turns: Sequence[Turn], profile: Profile, find_result: FindResult | None = None) -> Repaired:
    """Make turns valid for a provider.

    Turns that need nothing come back as the same objects, their payloads standing. What people and the assistant said is never
    withheld, but for blank texts; a result is withheld only if its call is not among the turns, or was answered already. Every
    call is answered: by its result, wherever it stands, else by what ``find_result`` gives for the call's id, else by a line
    that says it was not executed. Repairing again changes nothing.

    Args:
        turns: what is to be shown, in order.
        profile: the provider's rules.
        find_result: gives the stored result of a call id whose result is not among the turns; None if there is none.
    """
    found = tuple(turns)
    repairs: list[Repair] = []
    for _ in range(_PASSES):
        if is_valid(found, profile):
            break
        found = _repair_once(found, profile, find_result, repairs)
    return Repaired(found, tuple(repairs))


def is_valid(turns: Sequence[Turn], profile: Profile) -> bool:
    """Tell whether turns meet a provider's rules as they are. Costs about a microsecond a turn."""
    used: set[str] = set()
    waiting: tuple[str, ...] = ()  # calls of the last assistant turn
    answered = 0
    last = ""
    leading = True
    for turn in turns:
        shape = turn.shape or shape_of(turn.parts)
        role = turn.role
        if not shape.plain and not _is_sound(turn, profile):
            return False
        if shape.results:
            count = len(shape.results)
            if role not in ("tool", "user") or waiting[answered : answered + count] != shape.results:
                return False
            answered += count
            if len(turn.parts) > count and (answered < len(waiting) or role == "tool" or profile.results_alone):
                return False
        elif answered < len(waiting) or role == "tool":
            return False
        else:
            waiting, answered = (), 0
        if role in _SYSTEM:
            if not leading and not profile.system_anywhere:
                return False
            last = ""
            continue
        if (leading and profile.user_first and role == "assistant") or (profile.alternate and role == last and role != "tool"):
            return False
        leading = False
        last = role
        if shape.calls:
            if role != "assistant" or not _are_new(shape.calls, used, profile):
                return False
            waiting = shape.calls
    return answered == len(waiting)


def _are_new(calls: tuple[str, ...], used: set[str], profile: Profile) -> bool:
    for call_id in calls:
        if call_id in used or not profile.id_rule.fullmatch(call_id):
            return False
        used.add(call_id)
    return True


def _is_sound(turn: Turn, profile: Profile) -> bool:
    """Tell whether a turn needs no repair within itself; where its results stand in it is looked at elsewhere."""
    return clean(turn, profile, []) is turn and end_well(turn, []) is turn and _results_first(turn)


def _results_first(turn: Turn) -> bool:
    shape = turn.shape or shape_of(turn.parts)
    return len(shape_of(turn.parts[: len(shape.results)]).results) == len(shape.results)


def _repair_once(
    turns: tuple[Turn, ...], profile: Profile, find_result: FindResult | None, repairs: list[Repair]
) -> tuple[Turn, ...]:
    cleaned = [good for turn in turns if (good := clean(turn, profile, repairs)) is not None]
    paired = pair(cleaned, profile, find_result, repairs)
    spoken = paired if profile.system_anywhere else _without_later_system(paired, repairs)
    merged = _alternating(spoken, repairs) if profile.alternate else spoken
    ended = [good for turn in merged if (good := end_well(turn, repairs)) is not None]
    return tuple(_opened(ended, repairs) if profile.user_first else ended)


def _without_later_system(turns: Sequence[Turn], repairs: list[Repair]) -> list[Turn]:
    out: list[Turn] = []
    leading = True
    for turn in turns:
        leading = leading and turn.role in _SYSTEM
        if not leading and turn.role in _SYSTEM:
            repairs.append(Repair("system_note", turn.origin, "shown in the user's role: it stands after the first message"))
            turn = Turn("user", (Text(system_note(turn.parts, turn.origin)),), turn.origin)
        out.append(turn)
    return out


def _alternating(turns: Sequence[Turn], repairs: list[Repair]) -> list[Turn]:
    out: list[Turn] = []
    for turn in turns:
        if out and out[-1].role == turn.role and turn.role in ("user", "assistant"):
            first = out[-1]
            name = first.name if first.name == turn.name else None
            repairs.append(Repair("merged", turn.origin, f"shown in one message with {first.origin}"))
            out[-1] = replace(first, parts=first.parts + turn.parts, payload=None, name=name, shape=None)
        else:
            out.append(turn)
    return out


def _opened(turns: Sequence[Turn], repairs: list[Repair]) -> list[Turn]:
    """Put a line of the user's before an assistant's greeting."""
    start = 0
    while start < len(turns) and turns[start].role in _SYSTEM:
        start += 1
    if start == len(turns) or turns[start].role != "assistant":
        return list(turns)
    origin = turns[start].origin
    repairs.append(Repair("opening_line", origin, "put before the assistant's first message"))
    return [*turns[:start], Turn("user", (Text(_OPENING),), origin), *turns[start:]]
