"""What was used lately, kept in memory up to a number: however many threads there are, memory does not grow with them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from lossless.locks import ForkLock

__all__ = ["Recent"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps the values used last. For any number of threads of a process, forked ones included.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._lock = ForkLock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """Give a value, or None if it is not kept (any more)."""
        with self._lock:
            value = self._kept.get(key)
            if value is not None:
                self._kept.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value; what was used longest ago goes when there are too many."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._kept.clear()

    def drop(self, key: K) -> None:
        """Forget a value."""
        with self._lock:
            self._kept.pop(key, None)
