"""Exporting: the payloads of a thread, a line each, as they were stored."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lossless.dag.heads import read_head
from lossless.dag.view import ViewStore
from lossless.store.database import Database
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, places_of

__all__ = ["exported"]

_BATCH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


def exported(database: Database, key: ThreadKey, views: ViewStore, reader: MessageReader, *, deleted: bool) -> Iterator[bytes]:
    """Give a thread's payloads in the order of their places, as they are now, a batch at a time.

    A lone surrogate, which UTF-8 can't say, is written as JSON's escape.
    """
    with database.read() as connection:
        head = read_head(connection, key)
        if head is None:
            return
        view = views.load(connection, key.namespace, head.view)
        seqs = places_of(connection, key, head.next_seq)
    hidden = {seq for gone in view.hidden() for seq in gone} if not deleted else set()
    shown = [seq for seq in seqs if seq not in hidden]
    for start in range(0, len(shown), _BATCH):
        with database.read() as connection:
            found = reader.by_seq(connection, key, shown[start : start + _BATCH], keep=False)
        yield from (_line(message.data) for message in found)


def _line(data: bytes) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogatepass")
        return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text).encode()
    return data
