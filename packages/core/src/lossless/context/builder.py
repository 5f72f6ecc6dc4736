"""Building the active context: reads only; no model call, no write, no scheduling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from lossless.context.ancestors import with_ancestors
from lossless.context.budget import Limits
from lossless.context.edits import Edited, after_edits
from lossless.context.entries import SummaryCache
from lossless.context.fitting import Chosen, everything, fit
from lossless.context.model import ActiveContext
from lossless.context.pieces import Piece, PieceCache, Scene
from lossless.context.recalling import MOST_RECALLED, recall_piece
from lossless.dag.heads import Head
from lossless.dag.view import View
from lossless.errors import ConfigError
from lossless.messages import Format, Profile, repair
from lossless.store.keys import ThreadKey
from lossless.store.read import MessageReader
from lossless.tokens.counter import TokenCounter
from lossless.tokens.parts import count_parts

__all__ = ["ContextBuilder"]

_ATTEMPTS = 8
"""Repairs may need room of their own; so often less is shown to make it."""


class ContextBuilder:
    """Renders views. One for each engine; what it keeps in memory is immutable."""

    def __init__(
        self, reader: MessageReader, summaries: SummaryCache, counter: TokenCounter, formats: Callable[[], Mapping[str, Format]]
    ) -> None:
        self._reader = reader
        self._summaries = summaries
        self._pieces = PieceCache()
        self._counter = counter
        self._formats = formats

    def forget(self) -> None:
        """Drop what is kept in memory."""
        self._pieces.forget()
        self._summaries.forget()

    def build(
        self,
        connection: Connection,
        key: ThreadKey,
        head: Head | None,
        view: View,
        *,
        limits: Limits | None,
        profile: Profile,
        format: str,
    ) -> ActiveContext:
        """Render a thread's view within its limits (None: the whole view).

        Raises:
            ConfigError: no plugin provides the format.
        """
        writer = self._formats().get(format)
        if writer is None:
            raise ConfigError(f"the format {format!r} is not known", hint=f"one of {', '.join(sorted(self._formats()))}")
        scene = Scene(
            connection=connection,
            key=key,
            view=view,
            next_seq=head.next_seq if head is not None else 1,
            generation=head.generation if head is not None else 0,
            format=format,
            reader=self._reader,
            pieces=self._pieces,
            summaries=self._summaries,
            counter=self._counter,
        )
        tokens = view.tokens(head.total_tokens if head is not None else 0)
        address = head.view if head is not None else b""
        if limits is None or tokens <= limits.hard:
            whole = everything(scene)
            context = self._rendered(scene, whole, writer, profile, address, limits)
            if limits is None or context.tokens <= limits.hard:
                return self._with_recall(scene, whole, context, writer, profile, address, limits)
        room = limits.hard
        scene = with_ancestors(scene, room, head.total_tokens if head is not None else 0)
        for _attempt in range(_ATTEMPTS):
            chosen = fit(scene, room, limits)
            context = self._rendered(scene, chosen, writer, profile, address, limits)
            if context.tokens <= limits.hard:
                break
            # Counted from what was chosen, or a room that was not used up would be filled with something else.
            taken = sum(piece.item.tokens for piece in chosen.pieces)
            room = min(room, taken) - (context.tokens - limits.hard)
        else:
            context = self._rendered(scene, fit(scene, 0, limits), writer, profile, address, limits)
        return context

    def _with_recall(
        self,
        scene: Scene,
        chosen: Chosen,
        context: ActiveContext,
        writer: Format,
        profile: Profile,
        address: bytes,
        limits: Limits | None,
    ) -> ActiveContext:
        """Show the sources of what the newest request corrects just before it, if there is room for them."""
        room = MOST_RECALLED if limits is None else min(limits.hard // 8, limits.hard - context.tokens)
        found = recall_piece(scene, room)
        if found is None:
            return context
        before, piece = found
        place = next(n for n, shown in enumerate(chosen.pieces) if shown.item.id == before and shown.item.kind == "message")
        start = chosen.edited.start
        edited = Edited(start + 1 if start is not None and place <= start else start)
        pieces = [*chosen.pieces[:place], piece, *chosen.pieces[place:]]
        recalled = self._rendered(scene, replace(chosen, pieces=pieces, edited=edited), writer, profile, address, limits)
        return context if limits is not None and recalled.tokens > limits.hard else recalled

    def _rendered(
        self, scene: Scene, chosen: Chosen, writer: Format, profile: Profile, address: bytes, limits: Limits | None
    ) -> ActiveContext:
        pieces, edits = after_edits(scene, chosen.pieces, chosen.edited)
        fixed = repair([piece.turn for piece in pieces], profile)
        counted = {id(piece.turn): piece.item.tokens for piece in pieces}
        tokens = sum(
            counted[id(turn)] if id(turn) in counted else count_parts(turn.parts, self._counter, name=turn.name)
            for turn in fixed.turns
        )
        hard = limits.hard if limits is not None else tokens
        reason = chosen.reason
        if not reason and tokens > hard:
            reason = f"what must be shown has {tokens} tokens, and {hard} are left for it"
        rendered = writer.render(fixed.turns, profile)
        return ActiveContext(
            messages=rendered.messages,
            items=tuple([piece.item for piece in pieces]),
            tokens=tokens,
            status="exhausted" if reason else "ok",
            reason=reason,
            represented=chosen.represented,
            total=scene.view.messages(scene.next_seq),
            view=_hash(address, chosen.pieces),
            system=rendered.system,
            repairs=(*edits, *fixed.repairs),
            budget=hard,
        )


def _hash(address: bytes, pieces: Sequence[Piece]) -> str:
    return hashlib.sha256(b"lossless context\0" + address + b"".join([piece.mark for piece in pieces])).hexdigest()
