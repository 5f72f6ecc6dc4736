"""When a call that failed is tried again. Pure: the time that is left and chance are given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["retry_after_of", "wait_before"]

_FIRST, _LONGEST = 0.5, 8.0
"""Seconds: of the first wait, and of the longest that was not asked for."""


def wait_before(attempt: int, left: float, *, retry_after: float | None, chance: float) -> float | None:
    """Give the seconds to wait before the next attempt, or None when that would be too late.

    Args:
        attempt: how many were made, from 1.
        left: seconds until the deadline.
        retry_after: seconds that the server asked for; it is never asked again earlier.
        chance: a random number from 0 to 1, so that many clients don't come back at once.
    """
    own = min(_LONGEST, _FIRST * 2.0 ** min(attempt - 1, 30))
    wait = own * (0.5 + chance / 2) if retry_after is None else retry_after + chance * min(own, 1.0)
    return wait if wait < left else None


def retry_after_of(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read what a server asked for: milliseconds, seconds or a date (RFC 9110); None where that is nothing or nonsense."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds, value = given.get("retry-after-ms"), given.get("retry-after")
    for text, unit in ((milliseconds, 1_000.0), (value, 1.0)):
        try:
            seconds = float(text) / unit if text is not None else -1.0
        except ValueError:
            continue
        if 0.0 <= seconds < float("inf"):
            return seconds
    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())
