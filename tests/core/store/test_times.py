"""Times come back as they were given, to the microsecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

import lossless
from lossless.store.times import from_stored, now, to_stored

zones = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-11))])


@given(st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=zones))
def test_a_moment_comes_back_equal(moment: datetime) -> None:
    assert from_stored(to_stored(moment)) == moment


def test_a_messages_time_is_the_one_that_was_given() -> None:
    moment = datetime(2026, 11, 30, 20, 15, 1, 123_457, tzinfo=UTC)
    with lossless.Engine("sqlite://") as engine:
        thread = engine.thread("t")
        thread.append({"role": "user", "content": "hello"}, created_at=moment)
        thread.append({"role": "user", "content": "now"})
        first, second = thread.messages()
        assert first.created_at == moment
        assert abs(second.created_at - from_stored(now())) < timedelta(minutes=5)
