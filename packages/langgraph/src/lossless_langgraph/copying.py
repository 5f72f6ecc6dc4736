"""Copies of messages and plain values, made faster than they are read: each may be changed without the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage

__all__ = ["is_stock_message", "maker_of", "stock_name"]

_FIXED = frozenset((str, int, float, bool, bytes, type(None)))
_DEEPEST = 50
_CLASSES: dict[type, str] = {}
_put = object.__setattr__


def maker_of(value: Any) -> Callable[[], Any] | None:
    """Give what makes equal values, which share only what nobody can change; None of what may hold anything else."""
    try:
        return _MessageMaker(value) if is_stock_message(value) else _PlainMaker(value)
    except _NotPlainError:
        return None


def is_stock_message(value: Any) -> bool:
    """Tell whether a value is a message of a class of LangChain's own."""
    return stock_name(type(value)) is not None


def stock_name(cls: type) -> str | None:
    """Name a class of LangChain's own messages; None for any other."""
    found = _CLASSES.get(cls)
    if found is None and issubclass(cls, BaseMessage) and cls.__module__.startswith("langchain_core.messages."):
        found = _CLASSES[cls] = f"{cls.__module__}.{cls.__qualname__}"
    return found


class _NotPlainError(Exception):
    """Something may hold what can be changed."""


class _PlainMaker:
    """Makes copies of a value of dicts, lists and tuples."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = _checked(value, _DEEPEST)

    def __call__(self) -> Any:
        return _fresh(self._value)


class _MessageMaker:
    """Makes copies of a message. There is one for each message that is remembered, so it is made of few objects."""

    __slots__ = ("_cls", "_extra", "_given", "_inner", "_private", "_whole")

    def __init__(self, message: BaseMessage) -> None:
        self._cls = type(message)
        held = message.__dict__.items()
        self._whole = {name: value if type(value) in _FIXED else _checked(value, _DEEPEST) for name, value in held}
        self._inner = _names(tuple([name for name, value in self._whole.items() if type(value) not in _FIXED]))
        self._given = frozenset(message.__pydantic_fields_set__)
        self._extra = _checked(message.__pydantic_extra__, _DEEPEST)
        self._private = _checked(message.__pydantic_private__, _DEEPEST)

    def __call__(self) -> BaseMessage:
        data = self._whole.copy()
        for name in self._inner:
            data[name] = _fresh(data[name])
        made: BaseMessage = self._cls.__new__(self._cls)
        _put(made, "__dict__", data)
        _put(made, "__pydantic_fields_set__", set(self._given))
        _put(made, "__pydantic_extra__", None if self._extra is None else _fresh(self._extra))
        _put(made, "__pydantic_private__", None if self._private is None else _fresh(self._private))
        return made


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Give the same object for the same names: messages of a class mostly have the same fields that hold something inside."""
    return _NAMES.setdefault(names, names) if len(_NAMES) < 1_000 else names


_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}


def _fresh(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: inner if type(inner) in _FIXED else _fresh(inner) for key, inner in value.items()} if value else {}
    if kind is list:
        return [inner if type(inner) in _FIXED else _fresh(inner) for inner in value] if value else []
    return tuple([_fresh(inner) for inner in value]) if kind is tuple else value


def _checked(value: Any, depth: int) -> Any:
    """Copy a value that is plain.

    Raises:
        _NotPlainError: it is not, or too deep.
    """
    kind = type(value)
    if kind in _FIXED:
        return value
    if depth > 0:
        if kind is dict and all(type(key) in _FIXED for key in value):
            return {key: _checked(inner, depth - 1) for key, inner in value.items()}
        if kind is list:
            return [_checked(inner, depth - 1) for inner in value]
        if kind is tuple:
            return tuple([_checked(inner, depth - 1) for inner in value])
    raise _NotPlainError
