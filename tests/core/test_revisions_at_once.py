"""Many revisions in one append end in the same view as one after the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lossless import Engine

FILLER = " and so on" * 20


def said(id: int, version: int) -> dict[str, Any]:
    return {"role": "user", "content": f"{id} in version {version}{FILLER}", "id": f"u{id}"}


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 15), st.integers(1, 3)), min_size=1, max_size=12),
    st.lists(st.integers(0, 15), max_size=3, unique=True),
    st.booleans(),
)
def test_revisions_in_one_append_are_as_one_after_the_other(
    revisions: list[tuple[int, int]], deleted: list[int], compacted: bool
) -> None:
    shown = []
    for at_once in (True, False):
        with Engine("sqlite://", window=900, background=False) as engine:
            thread = engine.thread("t")
            thread.append([said(id, 0) for id in range(12)], compact=False)
            if compacted:
                thread.compact(force=True)
            for id in deleted:
                if id < 12:
                    thread.delete(f"u{id}")
            given_ones = [said(id, version) for id, version in revisions]
            for batch in [given_ones] if at_once else [[each] for each in given_ones]:
                thread.append(batch, compact=False)
            shown.append([(message.id, message.text) for message in thread.messages()])
            assert engine.verify().ok
    assert shown[0] == shown[1]
