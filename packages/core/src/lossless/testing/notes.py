"""Assertions about notes."""

from __future__ import annotations

from collections.abc import Sequence

from lossless.policies.model import Note, SourceItem
from lossless.policies.witness import witness

__all__ = ["assert_correctable"]


def assert_correctable(note: Note | str, items: Sequence[SourceItem]) -> None:
    """Assert that every source item can be read from a note, so that whatever was concluded can be corrected from it.

    Args:
        note: what a policy or a summarizer wrote.
        items: what its sources hold, as ``lossless.policies.extract`` finds them.

    Raises:
        AssertionError: the note is not correctable; it names the verdict and the items that are missing.
    """
    found = witness(note.text if isinstance(note, Note) else note, items)
    if found.regime != "correctable":
        missing = "; ".join(item.text for item in found.missing)
        raise AssertionError(
            f"the note is {found.regime}: it keeps {found.kept} of {found.total} source items, without {missing}"
        )
