"""Times as they are stored: integers, microseconds since the epoch, so that a given ``datetime`` comes back equal."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

__all__ = ["from_stored", "now", "to_stored"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> int:
    """Give the time, in microseconds."""
    return time.time_ns() // 1_000


def to_stored(moment: datetime) -> int:
    """Turn a moment into microseconds; one without a time zone is local time."""
    return (moment.astimezone(UTC) - _EPOCH) // _MICROSECOND


def from_stored(value: int) -> datetime:
    """Turn microseconds into a moment, in UTC."""
    return _EPOCH + value * _MICROSECOND
