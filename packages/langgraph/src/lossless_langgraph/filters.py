"""What a filter on metadata matches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["matches"]


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Tell whether metadata has all that is wanted: equal values; of dicts and lists, at least what is named.

    A key that is not there equals None.
    """
    return all(_holds(metadata.get(key), value) for key, value in (wanted or {}).items())


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and _holds(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return isinstance(found, (list, tuple)) and all(any(_holds(one, value) for one in found) for value in wanted)
    return bool(found == wanted)
