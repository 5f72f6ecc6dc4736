"""Noting corrections: after an append, the newest request among what was added is looked at; what it is about is looked up."""

from __future__ import annotations

from collections.abc import Sequence

from lossless.context.corrections import detect_correction, find_meant, find_restated, may_correct, spoken_of
from lossless.dag.ingest import Ingested
from lossless.dag.segments import SummaryRef
from lossless.hooks import Plugins
from lossless.messages import readable
from lossless.store.append import Draft
from lossless.store.connection import Database
from lossless.store.corrections import note_correction
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader, requests_before

__all__ = ["note_corrections"]


def note_corrections(
    database: Database, reader: MessageReader, plugins: Plugins, key: ThreadKey, drafts: Sequence[Draft], done: Ingested
) -> None:
    """Note what the newest request that was added corrects, if it corrects something.

    Most requests are told from a few words not to, which costs microseconds; no database is asked then. Nor is one asked while no
    summary stands in the view: what is corrected is shown itself.
    """
    if not any(isinstance(segment, SummaryRef) for segment in done.view.segments):
        return
    asked = next((draft for draft in reversed(drafts) if draft.request and not draft.injected), None)
    if asked is None or not done.added or not (plugins.detect_corrections or may_correct(readable(asked.said.parts))):
        return
    with database.read() as connection:
        newest = requests_before(connection, key, done.next_seq, limit=1)
        if not newest or newest[0].seq < done.next_seq - done.added:
            return
        seq = newest[0].seq
        (message,) = reader.by_seq(connection, key, [seq])
        found = plugins.correction(message, key.thread_id)
        if found is None:
            meant = find_restated(connection, reader, key, message.text, seq)
        elif found:
            corrected = spoken_of(found) if isinstance(found, str) else detect_correction(message.text) or spoken_of(message.text)
            meant = find_meant(connection, reader, key, corrected, seq)
        else:
            meant = []
    if meant:
        database.write(lambda connection: note_correction(connection, key, seq, meant))
        plugins.event("correction", thread_id=key.thread_id, message_id=message.id)
