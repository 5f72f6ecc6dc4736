"""Restating: telling that a person gives a label another value than before, in whatever language the label is.

``Deposit: 340 EUR``, and later ``Deposit: 430 EUR``: nobody says that anything was wrong, yet one of them is. It counts only
where the label had one value before, and where nothing else that is labelled beside it differs: that would be another record of
the same form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lossless.policies.atoms import NUMERIC, Value, find_atoms, normalise

__all__ = ["labelled", "restated", "worth_comparing"]

_LONGEST = 400
"""Characters of a message that may restate something: a long one is a document."""
_LABEL = re.compile(r"^[ \t>*•-]{0,8}([^\W\d_][^\n:=：|]{0,40}?)[ \t*]{0,4}[:=：][ \t*]{0,4}([^\n]{1,60})$", re.MULTILINE)
_KINDS = NUMERIC | {"date", "time"}


def labelled(text: str) -> dict[str, Value | str]:
    """Give what a text says line by line as ``label: value``: a number, amount, date or time, or else the words. Pure."""
    found: dict[str, Value | str] = {}
    for label, said in _LABEL.findall(text):
        atoms = find_atoms(said)
        one = atoms[0] if len(atoms) == 1 and atoms[0].kind in _KINDS else None
        value = normalise(one.kind, one.text) if one is not None and one.end - one.start > len(said.strip()) // 2 else None
        found.setdefault(label.strip().casefold(), value if value is not None else said.strip().casefold())
    return found


def worth_comparing(text: str) -> dict[str, Value | str]:
    """Give the labels of a message short enough to restate something; empty if none has a number, amount, date or time. Pure."""
    if len(text) > _LONGEST or not (":" in text or "=" in text or "：" in text):
        return {}
    found = labelled(text)
    return found if any(isinstance(value, Value) for value in found.values()) else {}


def restated(now: Mapping[str, Value | str], before: Iterable[tuple[int, Mapping[str, Value | str]]]) -> list[int]:
    """Give the seqs of earlier messages whose value a message replaces, oldest first. Pure.

    Args:
        now: what the message says, by label.
        before: seqs of earlier messages, and what each says, by label.
    """
    earlier = list(before)
    meant: set[int] = set()
    for label, value in now.items():
        told = [(seq, said) for seq, said in earlier if isinstance(said.get(label), Value)]
        values = {said[label] for _seq, said in told}
        if not isinstance(value, Value) or len(values) != 1 or value in values:
            continue
        same = [seq for seq, said in told if all(said[other] == now[other] for other in said.keys() & now.keys() - {label})]
        meant.update(same if len(same) == len(told) else ())
    return sorted(meant)
