"""Units: an assistant message with all its tool results; every other message is a unit of its own.

Cuts happen only between units. What belongs together is read off the ids of calls and results alone, so that a store can keep
the shapes of messages and place each new one without looking back: see :class:`UnitTracker`.

Providers reuse tool-call ids. A result answers the newest open call with its id, and a call that reuses the id of an open one
closes that one unanswered: a later result can't be told to belong to it. Results of no open call are units of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from lossless.messages.parts import Call, Part, Result, Text

__all__ = ["Shape", "UnitTracker", "is_blank", "shape_of", "units"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What units and validity ask of a message, without its content.

    Attributes:
        calls: ids of the tool calls it makes, in order.
        results: ids of the tool calls it answers, in order.
        plain: that it holds nothing but texts, named calls and answered texts, none of them blank, results first. Such a
            message needs no closer look by any provider's rules. False, also, where it is not known.
    """

    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    plain: bool = False


class _HasParts(Protocol):
    @property
    def parts(self) -> Iterable[Part]: ...


_PLAIN = Shape(plain=True)
_EMPTY = Shape()


def shape_of(parts: Iterable[Part]) -> Shape:
    """Read the shape of a message off its parts."""
    calls: list[str] = []
    results: list[str] = []
    plain = True
    others = False
    for part in parts:
        if isinstance(part, Result):
            results.append(part.call_id)
            plain = plain and not others and _is_plain_answer(part)
            continue
        others = True
        if isinstance(part, Text):
            plain = plain and not is_blank(part.text)
        elif isinstance(part, Call):
            calls.append(part.id)
            plain = plain and bool(part.name)
        else:
            plain = False
    if calls or results:
        return Shape(tuple(calls), tuple(results), plain)
    return _PLAIN if plain and others else _EMPTY


def is_blank(text: str) -> bool:
    """Tell whether a text has nothing but white space; providers refuse such texts."""
    return not text or text.isspace()


def _is_plain_answer(result: Result) -> bool:
    return bool(result.parts) and all(isinstance(part, Text) and not is_blank(part.text) for part in result.parts)


class UnitTracker:
    """Places messages into units one after the other, knowing nothing of earlier ones but the calls that are still open.

    Args:
        open_calls: (call id, seq of the first message of its unit) of each call that no result has answered yet, oldest first,
            as :attr:`open_calls` gave them.
    """

    __slots__ = ("_open",)

    def __init__(self, open_calls: Iterable[tuple[str, int]] = ()) -> None:
        self._open: dict[str, list[int]] = {}
        for call_id, unit in open_calls:
            self._ask(call_id, unit)

    @property
    def open_calls(self) -> list[tuple[str, int]]:
        """(call id, seq of the first message of its unit) of each call that is still unanswered, oldest first."""
        return [(call_id, unit) for call_id, waiting in self._open.items() for unit in waiting]

    def place(self, seq: int, shape: Shape) -> int:
        """Place the next message and give the seq of its unit's first message: its own where it begins one."""
        unit = seq
        for call_id in shape.results:
            waiting = self._open.get(call_id)
            if waiting is None:
                continue
            unit = waiting.pop() if unit == seq else max(unit, waiting.pop())
            if not waiting:
                del self._open[call_id]
        for call_id in shape.calls:
            self._ask(call_id, unit)
        return unit

    def _ask(self, call_id: str, unit: int) -> None:
        waiting = self._open.get(call_id)
        if waiting and waiting[-1] == unit:
            waiting.append(unit)  # the same id twice in one message: two results will come
            return
        self._open.pop(call_id, None)
        self._open[call_id] = [unit]


def units(messages: Iterable[Shape | _HasParts]) -> list[list[int]]:
    """Group the positions of messages into units, given their shapes, or anything with parts: turns, messages.

    Returns:
        Groups of positions from 0, each ascending, in the order of their first positions; every position is in exactly one.
    """
    tracker = UnitTracker()
    groups: dict[int, list[int]] = {}
    for position, given in enumerate(messages):
        shape = given if isinstance(given, Shape) else shape_of(given.parts)
        groups.setdefault(tracker.place(position, shape), []).append(position)
    return list(groups.values())
