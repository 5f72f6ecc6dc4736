"""Matching: what of a transcript a thread has already, where not all messages have ids that tell.

Their bytes are compared first, which is exact and cheap. A history that came back from a provider or a framework has other bytes
and the same contents; then the newest messages of the thread are read and compared by those.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from sqlalchemy import Connection

from lossless.dag.aligning import count_known, filled, overlap
from lossless.dag.segments import Raw
from lossless.dag.view import View
from lossless.messages.model import Message
from lossless.store.append import Draft
from lossless.store.contents import Content, Said, contents, participant, says_the_same
from lossless.store.keys import ThreadKey
from lossless.store.read import requests_before
from lossless.store.shown import erased_kinds, gaps_in, visible_messages

__all__ = ["ReadMessages", "new_drafts"]

ReadMessages = Callable[[Connection, ThreadKey, Sequence[int]], list[Message]]
"""Reads messages by seq, in the order given."""

_WITHOUT_CONTENT = 64
"""So many of the newest messages may say nothing that counts, such as answers to calls that never were."""
_CERTAIN = 2
"""Messages that must overlap before their bytes alone are believed: a single one may say "yes" here and there."""
_SYSTEM = ("system", "developer")


def new_drafts(
    connection: Connection, key: ThreadKey, views: Sequence[View], drafts: Sequence[Draft], read: ReadMessages
) -> list[Draft]:
    """Give the drafts that are new to a thread.

    System messages at the start are compared apart: a context that came back has them right before its newest messages, and an
    application may have changed them.

    Args:
        connection: a connection that sees the thread.
        key: the thread.
        views: its view, and those before it that a context that comes back may have been rendered from, newest first.
        drafts: a transcript, in order.
        read: reads messages.
    """
    every = visible_messages(connection, key, ())
    gone = {seq for hidden in views[0].hidden() for seq in hidden}
    stored = [each for each in every if each[0] not in gone]
    erased = erased_kinds(connection, key)
    given = [draft.digest for draft in drafts]
    digests = _digests(stored, erased, drafts)
    lead = next((n for n, draft in enumerate(drafts) if draft.role not in _SYSTEM), len(drafts))
    known = overlap(digests, given)
    if gone:
        known = max(known, _deleted_since(every, gone, erased, drafts))
    if known > lead or known == len(drafts):
        return list(drafts[known:])
    pinned = count_known(digests, given[:lead])
    known = overlap(digests, given[lead:])
    if gone:
        known = max(known, _deleted_since(every, gone, erased, drafts[lead:]))
    if known < _CERTAIN and lead + known < len(drafts):
        seqs = [seq for seq, _digest in stored]
        shown = [*(_standing(view, seqs) for view in views), set(seqs)]
        found = (_same_contents(connection, key, [seq for seq in seqs if seq in each], drafts[lead:], read) for each in shown)
        known = max(known, next(filter(None, found), 0))
        pinned = pinned or (_same_start(connection, key, seqs, drafts[:lead], read) if known else 0)
    if known:
        return [*drafts[pinned:lead], *drafts[lead + known :]]
    return list(drafts[count_known(digests, given) :])


def _digests(stored: Sequence[tuple[int, bytes]], erased: Mapping[int, tuple[str, int]], drafts: Sequence[Draft]) -> list[bytes]:
    """Give the digests of stored messages; of erased ones, those of the drafts that stand in their place."""
    found = [digest for _seq, digest in stored]
    gaps = gaps_in([seq for seq, _digest in stored], erased)
    if not gaps:
        return found
    return filled(found, gaps, [draft.digest for draft in drafts], [(draft.role, draft.tokens) for draft in drafts])


def _deleted_since(
    every: Sequence[tuple[int, bytes]], gone: Container[int], erased: Mapping[int, tuple[str, int]], drafts: Sequence[Draft]
) -> int:
    """Count the drafts at the front that were stored, where some of them were deleted from the view since.

    They end with a message that is shown: what was deleted after it may have been said again. A single one that is shown tells
    nothing.
    """
    shown = [seq not in gone for seq, _digest in every]
    until = max((place for place, is_shown in enumerate(shown, start=1) if is_shown), default=0)
    digests, given = _digests(every, erased, drafts)[:until], [draft.digest for draft in drafts]
    known = overlap(digests, given, shown)
    visible = {digest for digest, is_shown in zip(digests, shown, strict=False) if is_shown}
    return known if sum(digest in visible for digest in given[:known]) >= _CERTAIN else 0


def _standing(view: View, seqs: Sequence[int]) -> set[int]:
    """Give those of some messages that stand in a view as themselves."""
    raw = {seq for each in view.segments if isinstance(each, Raw) for seq in range(each.first, each.last + 1)}
    return {seq for seq in seqs if seq in raw or seq >= view.tail.first}


def _same_contents(
    connection: Connection, key: ThreadKey, stored: Sequence[int], drafts: Sequence[Draft], read: ReadMessages
) -> int:
    """Count the drafts at the front whose contents are the newest ones of those that are stored."""
    given = contents([draft.said for draft in drafts])
    if not given:
        return 0
    newest = contents(_said(read(connection, key, stored[-(len(given) + _WITHOUT_CONTENT) :])))
    if known := _matched(newest, given, 0):
        return known
    request = _newest_request(connection, key, set(stored), read)
    return _matched(newest, given, len(request)) if request and _are_same(request, given[: len(request)]) else 0


def _same_start(
    connection: Connection, key: ThreadKey, stored: Sequence[int], drafts: Sequence[Draft], read: ReadMessages
) -> int:
    """Give the number of drafts if their contents are the thread's first ones, else 0."""
    given = contents([draft.said for draft in drafts])
    first = contents(_said(read(connection, key, stored[: len(given) + _WITHOUT_CONTENT])))
    return len(drafts) if _are_same(first[: len(given)], given) else 0


def _matched(stored: Sequence[Content], given: Sequence[Content], start: int) -> int:
    """Count the messages at the front that say nothing new, if those from content ``start`` on overlap with what is stored."""
    rest = given[start:]
    length = overlap([content.key for content in stored], [content.key for content in rest])
    if not length:
        return 0
    place = _place([content.key for content in stored], [content.key for content in rest[:length]])
    if not _are_same(stored[place : place + length], rest[:length]):
        return 0
    after_last = 1 + max(content.message for content in given[: start + length])
    return min([after_last, *(content.message for content in given[start + length :])])


def _are_same(stored: Sequence[Content], given: Sequence[Content]) -> bool:
    return len(stored) == len(given) and all(
        one.key == other.key and says_the_same(one, other) for one, other in zip(stored, given, strict=True)
    )


def _place(stored: Sequence[object], front: Sequence[object]) -> int:
    """Give where a front stands that is known to stand in ``stored``: at its end, as a rule."""
    last = len(stored) - len(front)
    return next(start for start in range(last, -1, -1) if list(stored[start : start + len(front)]) == list(front))


def _newest_request(connection: Connection, key: ThreadKey, visible: set[int], read: ReadMessages) -> list[Content]:
    """Read the newest message that a person sent; a long tool loop is shown without what was between it and its end."""
    found = (fact.seq for fact in requests_before(connection, key, 2**62, limit=_WITHOUT_CONTENT) if fact.seq in visible)
    seq = next(found, None)
    return contents(_said(read(connection, key, [seq]))) if seq is not None else []


def _said(messages: Sequence[Message]) -> list[Said]:
    return [Said(message.id, message.role, participant(message.shared_payload()), message.parts) for message in messages]
