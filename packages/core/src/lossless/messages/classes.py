"""Which classes a payload may name: those that this process has loaded, of the few kinds that hold nothing but fields.

A payload is data that somebody may have changed. So no module is imported for it, and an object is made without running any code
of its class: no ``__init__``, no validator. A class that is not loaded reads as a placeholder, and as itself once it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TypeVar
from weakref import WeakValueDictionary

__all__ = ["bare", "find_class", "name_of"]

T = TypeVar("T")

_met: WeakValueDictionary[tuple[type, str], type] = WeakValueDictionary()


def name_of(cls: type, base: type) -> str:
    """Name a class so that :func:`find_class` finds it, also one that was defined within a function."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    _met[base, name] = cls
    return name


def find_class(name: Any, base: type[T]) -> type[T] | None:
    """Give the loaded class of that name if it derives from ``base``, else None."""
    if not isinstance(name, str):
        return None
    known = _met.get((base, name))
    if known is not None:
        return known
    found = _in_its_module(name) or next(_derived(base, name), None)
    if found is None or not issubclass(found, base) or f"{found.__module__}:{found.__qualname__}" != name:
        return None
    _met[base, name] = found
    return found


def bare(cls: type[T]) -> T:
    """Make an object without running any code of its class."""
    return object.__new__(cls)


def _in_its_module(name: str) -> type | None:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        names = getattr(found, "__dict__", {})
        found = names.get(part)  # not getattr, which a module may answer by importing something
        if found is None:
            return None
    return found if isinstance(found, type) else None


def _derived(base: type, name: str) -> Iterator[type]:
    """Look among the subclasses, the newest first, for classes that their module does not hold under their name."""
    if base is object:
        return
    seen: set[type] = set()
    todo: list[type] = [base]
    while todo:
        derived: list[type] = type.__subclasses__(todo.pop())
        for cls in derived:
            if cls not in seen:
                seen.add(cls)
                todo.append(cls)
                if f"{cls.__module__}:{cls.__qualname__}" == name:
                    yield cls
