"""Composites: values that are taken apart because the serializer would alter what is in them.

LangGraph's own serializer gives lists for tuples, plain dicts for ordered ones, and lists for sets of tuples, wherever it writes
a value as a whole. So collections are written element by element, and of a dataclass or a pydantic model the fields that it would
alter are kept beside what it writes; the object itself still comes from it, so that its allowlist holds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

__all__ = ["AsOne", "joined_exactly", "split_exactly"]

_DEEPEST = 50
_FACTORIES: dict[str, type] = {kind.__name__: kind for kind in (list, dict, set, int, float, str, tuple, bool, bytes)}
_SPLIT: dict[type, Callable[[Any], tuple[str, Sequence[Any]] | None]] = {
    set: lambda value: ("set", (sorted(value, key=repr),)),
    frozenset: lambda value: ("frozenset", (sorted(value, key=repr),)),
    deque: lambda value: ("deque", (list(value), value.maxlen)),
    OrderedDict: lambda value: ("ordered", (dict(value),)),
    Counter: lambda value: ("counter", (dict(value),)),
    defaultdict: lambda value: _split_default(value),
}
_JOIN: dict[str, Callable[..., Any]] = {
    "set": lambda held: _hashed(set, held),
    "frozenset": lambda held: _hashed(frozenset, held),
    "deque": deque,
    "ordered": OrderedDict,
    "counter": Counter,
    "default": lambda name, value: defaultdict(_FACTORIES[name], value),
    "named": lambda whole, held: whole._make(held) if isinstance(whole, tuple) and hasattr(whole, "_make") else whole,
    "fields": lambda whole, beside: _with_fields(whole, beside),
}


@dataclass(frozen=True, slots=True)
class AsOne:
    """A value that is written by the serializer as a whole."""

    value: Any


def split_exactly(value: Any) -> tuple[str, Sequence[Any]] | None:
    """Take a value apart that LangGraph's own serializer would alter: a name, and pieces; None for others."""
    split = _SPLIT.get(type(value))
    if split is not None:
        return split(value)
    if isinstance(value, AsOne):
        return None
    if isinstance(value, tuple) and hasattr(value, "_fields") and not all(_is_kept(held, _DEEPEST) for held in value):
        return "named", (AsOne(value), list(value))
    beside = {name: held for name, held in _fields(value) if not _is_kept(held, _DEEPEST)}
    return ("fields", (AsOne(value), beside)) if beside else None


def joined_exactly(name: str, pieces: Sequence[Any]) -> tuple[Any] | None:
    """Put it together again; None if the name is not known."""
    join = _JOIN.get(name)
    return None if join is None else (join(*pieces),)


def _split_default(value: defaultdict[Any, Any]) -> tuple[str, Sequence[Any]] | None:
    factory: Any = value.default_factory
    name = getattr(factory, "__name__", "")
    return ("default", (name, dict(value))) if _FACTORIES.get(name) is factory else None


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Give the fields of a dataclass or a model."""
    if isinstance(value, BaseModel) and not isinstance(value, BaseMessage):
        yield from value.__dict__.items()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((each.name, getattr(value, each.name)) for each in fields(value) if hasattr(value, each.name))


def _is_kept(value: Any, depth: int) -> bool:
    """Tell whether the serializer keeps a field as it is, and all in it; what is neither plain nor a composite is left to it."""
    kind: type = type(value)
    if isinstance(value, str):
        return value.isascii() or value.encode("utf-8", "replace").decode() == value
    if depth == 0 or kind in _SPLIT or isinstance(value, (tuple, bytearray)):
        return False
    if kind is list:
        return all(_is_kept(each, depth - 1) for each in value)
    if kind is dict:
        return all(_is_kept(each, depth - 1) for pair in value.items() for each in pair)
    return isinstance(value, BaseMessage) or not (is_dataclass(value) or isinstance(value, BaseModel))


def _hashed(kind: type, held: list[Any]) -> Any:
    """Give a set, or, as the serializer does, a list where its allowlist gives plain dicts for what was in it."""
    try:
        return kind(held)
    except TypeError:
        return held


def _with_fields(whole: Any, beside: Mapping[str, Any]) -> Any:
    """Give an object with fields as they were; what the serializer did not make an object of is left as it is."""
    names = {name for name, _held in _fields(whole)}
    for name, held in beside.items():
        if name in names:
            object.__setattr__(whole, name, held)
    return whole
