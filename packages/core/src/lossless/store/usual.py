"""Usual values: what most messages have in a column of their row is not stored; NULL stands for it.

An id that nobody gave is derived from the place; most messages begin a unit or are alone in it, stand in their own place, and are
the assistant's, in the default format. Together that saves a row some twenty of its bytes. Statements read these columns through
what :func:`usual` gives.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import literal_column

from lossless.store.tables import MessageRow

__all__ = ["DEFAULT_FORMAT", "DEFAULT_ROLE", "derived_id", "unless_usual", "usual", "whole_row"]

DEFAULT_FORMAT = "openai/1"
DEFAULT_ROLE = "assistant"
_MESSAGE = MessageRow.__table__  # type: ignore[attr-defined]
_USUAL = {
    "id": "'m_' || CAST(lossless_message.seq AS TEXT)",
    "role": f"'{DEFAULT_ROLE}'",
    "format": f"'{DEFAULT_FORMAT}'",
    "unit": "lossless_message.seq",
    "place": "lossless_message.seq",
}


def derived_id(seq: int) -> str:
    """Derive an id from a place."""
    return f"m_{seq}"


def usual(*names: str) -> list[Any]:
    """Give columns of messages by name, the usual value where none is stored."""
    return [_column(name) for name in names]


def whole_row() -> list[Any]:
    """Give all columns of messages, as :func:`usual` does."""
    return [_column(column.name) for column in _MESSAGE.c]


def unless_usual(*, seq: int, id: str, role: str, format: str, unit: int, place: int) -> dict[str, Any]:
    """Give what is stored of a message in the columns that have a usual value."""
    return {
        "id": None if id == derived_id(seq) else id,
        "role": None if role == DEFAULT_ROLE else role,
        "format": None if format == DEFAULT_FORMAT else format,
        "unit": None if unit == seq else unit,
        "place": None if place == seq else place,
    }


def _column(name: str) -> Any:
    if name not in _USUAL:
        return _MESSAGE.c[name]
    return literal_column(f"coalesce(lossless_message.{name}, {_USUAL[name]})", _MESSAGE.c[name].type).label(name)
