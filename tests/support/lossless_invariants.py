"""What must hold of any thread at any time, whoever wrote its summaries: checked from outside, through public names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from sqlalchemy import select

from lossless import ActiveContext, Engine, Message, Thread
from lossless.dag.coverage import Extents
from lossless.dag.heads import read_head
from lossless.dag.segments import Hidden, SummaryRef
from lossless.dag.summaries import load_summaries
from lossless.dag.view import View
from lossless.messages import find_profile, problems
from lossless.store.guards import GUARDED
from lossless.store.keys import ThreadKey
from lossless.store.read import facts_of
from lossless.store.tables import METADATA
from lossless_counting import independent_tokens

__all__ = ["Entry", "Ledger", "check_cache", "check_context", "check_store", "covered", "rendered_text", "view_bytes"]


@dataclass
class Entry:
    """A message as it was appended: what the store must give back for ever."""

    seq: int
    id: str
    payload: dict[str, Any]
    place: int
    superseded: bool = False
    deleted: bool = False

    @property
    def visible(self) -> bool:
        """Whether it belongs to the view."""
        return not (self.superseded or self.deleted)


@dataclass
class Ledger:
    """Everything that was ever appended to a thread, kept beside the store and without it."""

    entries: list[Entry] = field(default_factory=list)
    moves: list[tuple[str, frozenset[int]]] = field(default_factory=list)  # by hand, oldest first, without those undone
    shrunk: set[str] = field(default_factory=set)  # summaries never change: those that were looked at need no second look
    messages: list[Message] = field(default_factory=list)  # of the state that is checked, as the thread gives them
    covered: dict[int, str] = field(default_factory=dict)  # by seq, how the view stands for each of them
    shown: ActiveContext | None = None  # whole, as it was last, and the generation of its view
    generation: int = -1
    expanded: dict[str, list[int]] = field(default_factory=dict)  # and what is under each of its summaries
    stored: dict[str, set[str]] = field(default_factory=dict)  # the rows that were there when the store was verified last

    def add(self, id: str, seq: int, payload: dict[str, Any]) -> None:
        """Note an appended message; a known id makes it a revision."""
        before = self.newest(id)
        if before is not None:
            before.superseded = True
        self.entries.append(Entry(seq, id, payload, before.place if before is not None else seq))

    def newest(self, id: str) -> Entry | None:
        """Give the newest message with an id."""
        return next((entry for entry in reversed(self.entries) if entry.id == id), None)

    def delete(self, ids: Sequence[str]) -> None:
        """Note that messages left the view."""
        gone = frozenset(entry.seq for id in ids if (entry := self.newest(id)) is not None)
        for entry in self.entries:
            entry.deleted = entry.deleted or entry.seq in gone
        self.moves.append(("delete", gone))

    def undo(self) -> bool:
        """Note that the newest move by hand was taken back."""
        if not self.moves:
            return False
        _what, gone = self.moves.pop()
        self.covered = {}
        for entry in self.entries:
            entry.deleted = entry.deleted and entry.seq not in gone
        return True

    def in_order(self) -> list[Entry]:
        """Give all entries by place."""
        return sorted(self.entries, key=lambda entry: (entry.place, entry.seq))

    def visible(self) -> list[Entry]:
        """Give what belongs to the view, in order."""
        return [entry for entry in self.in_order() if entry.visible]


def check_store(engine: Engine, thread: Thread, ledger: Ledger, *, verify: bool = True) -> None:
    """Check that the store verifies, covers every message once and in order, and gives back what was given.

    ``verify``: whether it is verified now. That takes most of the time, and what is wrong in the store stays wrong.
    """
    if verify:
        report = engine.verify()
        assert report.ok, report.problems
        _check_append_only(engine, ledger)
    everything = thread.messages(deleted=True)
    assert [(message.seq, message.id) for message in everything] == [(entry.seq, entry.id) for entry in ledger.in_order()]
    for message, entry in zip(everything, ledger.in_order(), strict=True):
        assert repr(message.payload) == repr(entry.payload)  # repr tells 1 from 1.0 and True, and one key order from another
        assert message.deleted is not entry.visible
    _look(engine, thread, ledger)
    assert [message.seq for message in ledger.messages] == [entry.seq for entry in ledger.visible()]
    assert [seq for seq, how in ledger.covered.items() if how != "hidden"] == [entry.seq for entry in ledger.visible()]


def _check_append_only(engine: Engine, ledger: Ledger) -> None:
    """Check that every row that was stored is there as it was: only erasing changes or removes one."""
    with engine.database.read() as connection:
        for table in GUARDED:
            rows = connection.execute(select(METADATA.tables[f"lossless_{table}"]).filter_by(namespace=engine.namespace))
            now = {repr(row) for row in rows}
            gone = ledger.stored.get(table, set()) - now
            assert not gone, f"{len(gone)} rows of {table} are not what they were: {sorted(gone)[0]}"
            ledger.stored[table] = now


def _look(engine: Engine, thread: Thread, ledger: Ledger) -> None:
    ledger.messages = thread.messages()
    ledger.expanded.clear()
    found = covered(engine, thread)
    assert len(dict(found)) == len(found), "a message stands in the view twice"
    _check_units(engine, thread, ledger.covered, dict(found))
    ledger.covered = dict(found)


def _check_units(engine: Engine, thread: Thread, before: Mapping[int, str], now: Mapping[int, str]) -> None:
    """Check that what was compacted since are whole units; a call may have been compacted before its answer came."""
    stood = [seq for seq, how in now.items() if how != "hidden" and before.get(seq, "raw") == "raw"]
    if not before or not any(now[seq] != "raw" for seq in stood):
        return
    with engine.database.read() as connection:
        facts = facts_of(connection, ThreadKey(engine.namespace, thread.id), stood)
    of_unit: dict[int, set[str]] = {}
    for fact in facts:
        of_unit.setdefault(fact.unit, set()).add(now[fact.seq])
    torn = [fact.id for fact in facts if len(of_unit[fact.unit]) > 1]
    assert not torn, f"of the units of {torn} only a part was summarised"


def check_context(
    engine: Engine, thread: Thread, ledger: Ledger, *, profile: str = "openai", format: str = "openai", **options: Any
) -> ActiveContext:
    """Check one rendered context of the state that was checked last, or of another one; give it."""
    if [message.seq for message in ledger.messages] != [entry.seq for entry in ledger.visible()]:
        _look(engine, thread, ledger)
    before = _data_version(engine)
    context = thread.context(profile=profile, format=format, **options)
    assert _data_version(engine) == before, "asking for a context wrote something"
    again = thread.context(profile=profile, format=format, **options)
    assert (view_bytes(again), again.view, again.items) == (view_bytes(context), context.view, context.items)
    assert problems(context.messages, find_profile(profile), context.system) == []
    tokens = independent_tokens(context.messages, context.system)
    _check_room(engine, context, **options)
    _check_budget(context, tokens, ledger)
    _check_counts(engine, thread, ledger, context)
    _check_frames(context)
    _check_pins(ledger, context)
    _check_request(ledger, context)
    _check_deleted(ledger, context)
    _check_results(engine, thread, ledger, context)
    return context


def check_cache(thread: Thread, ledger: Ledger) -> None:
    """Check that what a provider was sent begins what it is sent next, as long as the view was not changed."""
    generation, context, before = thread.views(limit=1)[0].generation, thread.context(), ledger.shown
    # What is left out changes with every message and with the window, and so do ancestors that stand in for what the view has;
    # the line that stands for an open call's result gives way to it.
    passing = any(item.kind in ("omission", "recall", "stub") for item in context.items)
    stands = set(ledger.covered.values())
    passing |= any(item.kind == "summary" and item.id not in stands for item in context.items)
    ledger.shown = None if passing or any(repair.kind == "missing_result" for repair in context.repairs) else context
    if before is not None and not passing and ledger.generation == generation:
        assert list(map(json.dumps, context.messages[: len(before.messages)])) == list(map(json.dumps, before.messages))
    ledger.generation = generation


def view_bytes(context: ActiveContext) -> str:
    """Give what a provider is sent, key order included."""
    return json.dumps([context.system, context.messages], ensure_ascii=True)


def rendered_text(context: ActiveContext) -> str:
    """Give every string in a context, a line each."""
    return "\n".join(_strings([context.system, context.messages]))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _strings(inner)]
    return [text for inner in value for text in _strings(inner)] if isinstance(value, (list, tuple)) else []


def covered(engine: Engine, thread: Thread) -> list[tuple[int, str]]:
    """Give every message that the view stands for, in the view's order, with how: ``raw``, ``hidden`` or a summary's id."""
    key = ThreadKey(engine.namespace, thread.id)
    with engine.database.read() as connection:
        head = read_head(connection, key)
        if head is None:
            return []
        view = engine.views.load(connection, engine.namespace, head.view)
        extents, found = Extents(connection, key), list[tuple[int, str]]()
        for segment in view.segments:
            how = segment.id if isinstance(segment, SummaryRef) else "hidden" if isinstance(segment, Hidden) else "raw"
            ranges = extents.of_view(View((segment,)), head.next_seq)
            found += [(seq, how) for first, last, _hidden in ranges for seq in range(first, last + 1)]
        return found


def _data_version(engine: Engine) -> tuple[int, int]:
    """Give what tells whether anybody wrote since: SQLite's own word, and what every write changes."""
    with engine.database.read() as connection:
        version = 0
        if connection.dialect.name == "sqlite":
            version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
        rows = connection.exec_driver_sql("SELECT count(*), sum(next_seq), sum(generation) FROM lossless_head").one()
        summaries = connection.exec_driver_sql("SELECT count(*) FROM lossless_summary").scalar_one()
        nodes = connection.exec_driver_sql("SELECT count(*) FROM lossless_node").scalar_one()
    assert version is not None
    return hash(tuple(rows)), summaries + nodes


def _check_room(
    engine: Engine, context: ActiveContext, overhead: int = 0, reserve: int | None = None, tools: Sequence[Any] = ()
) -> None:
    """Check that the budget leaves room for the answer, the overhead and all that the tools' schemas say."""
    assert engine.budget is not None
    window = engine.budget.window
    kept = min(20_000, window // 4) if reserve is None else reserve
    schemas = sum(independent_tokens([{"role": "", "content": text}]) for text in _strings(list(tools)))
    assert context.budget <= max(0, window - kept - overhead - schemas)


def _check_budget(context: ActiveContext, tokens: int, ledger: Ledger) -> None:
    assert tokens <= context.tokens, f"the engine counts {context.tokens}, an independent count {tokens}"
    if context.status == "ok":
        assert context.tokens <= context.budget
        assert context.reason == ""
        return
    assert context.reason
    if context.tokens > context.budget:  # then only what has to be there is there
        listed = [(item.kind, item.id, item.tokens) for item in context.items]
        assert {item.kind for item in context.items} <= {"message", "stub", "omission"}, listed
        shown = [item.id for item in context.items if item.kind != "omission"]
        messages = ledger.messages
        requests = [message.id for message in messages if _is_request(message)]
        pins = [message.id for message in takewhile(lambda message: message.role in ("system", "developer"), messages)]
        assert set(shown) <= {*pins, *requests[-1:]}, (context.tokens, context.budget, context.reason, listed)


def _check_counts(engine: Engine, thread: Thread, ledger: Ledger, context: ActiveContext) -> None:
    total = len(ledger.visible())
    assert context.total == total
    shown = sum(1 for item in context.items if item.kind in ("message", "stub"))
    summaries = [item for item in context.items if item.kind == "summary"]
    under = [seq for item in summaries for seq in _expanded(thread, ledger, item.id)]
    assert context.represented == shown + len(under)
    omissions = [item for item in context.items if item.kind == "omission"]
    missing = total - context.represented
    assert len(omissions) == (1 if missing else 0)
    visible = {entry.seq for entry in ledger.visible()}
    seen = {item.first_seq for item in context.items if item.kind in ("message", "stub")} | set(under)
    unseen = [entry for entry in ledger.visible() if entry.seq not in seen]
    for item in omissions:
        assert re.search(rf"\b{missing}\b", item.text)
        first, last, *summaries_left_out = item.ids
        assert (first, last) == (unseen[0].id, unseen[-1].id)
        assert first in item.text
        assert last in item.text
        assert any(item.text in text for text in _strings(context.messages))
        named = {seq for id in summaries_left_out for seq in _expanded(thread, ledger, id)}
        assert named <= {entry.seq for entry in unseen}
        assert named >= {entry.seq for entry in unseen if ledger.covered[entry.seq].startswith("sum_")}
    assert set(under) <= visible
    assert len(set(under)) == len(under)
    _check_shrink(engine, thread, ledger, [item.id for item in summaries if item.id not in ledger.shrunk])


def _expanded(thread: Thread, ledger: Ledger, id: str) -> list[int]:
    if id not in ledger.expanded:
        ledger.expanded[id] = [message.seq for message in thread.expand(id)]
    return ledger.expanded[id]


def _check_shrink(engine: Engine, thread: Thread, ledger: Ledger, ids: Sequence[str]) -> None:
    """Check that each summary costs less than what it replaced: its messages, or its child summaries."""
    key = ThreadKey(engine.namespace, thread.id)
    by_id = {message.id: message for message in thread.messages(deleted=True)} if ids else {}
    waiting = list(ids)
    while waiting:
        id = waiting.pop()
        if id in ledger.shrunk:
            continue
        ledger.shrunk.add(id)
        facts = thread.describe(id)
        cost = 0
        for source in facts["sources"]:
            if source.startswith("sum_") and source not in by_id:
                waiting.append(source)
                with engine.database.read() as connection:
                    cost += load_summaries(connection, key, [source])[source].tokens
            else:
                cost += by_id[source].tokens
        assert facts["tokens"] < cost, f"{id} replaces {cost} tokens by {facts['tokens']}"


def _check_frames(context: ActiveContext) -> None:
    for item in context.items:
        if item.kind != "summary":
            continue
        assert item.id in item.text
        assert item.text.count("<") == item.text.count(">") == 2
        assert item.text.startswith("<summary ")
        assert item.text.endswith("</summary>")
        assert "hidden-thought" not in item.text


def _check_pins(ledger: Ledger, context: ActiveContext) -> None:
    """Check that system messages before everything else stand first, as they are, whatever else has to give way."""
    leading = takewhile(lambda entry: entry.payload["role"] in ("system", "developer"), ledger.in_order())
    pins = [entry for entry in leading if entry.visible]
    first = [(item.kind, item.id) for item in context.items if item.kind != "omission"][: len(pins)]
    assert first == [("message", entry.id) for entry in pins]
    text = rendered_text(context)
    assert all(entry.payload["content"] in text for entry in pins if entry.payload["content"].strip())


def _is_request(message: Message) -> bool:
    if message.role != "user" or message.injected:
        return False
    content = message.payload.get("content")
    if isinstance(content, str):
        return bool(content.strip())
    kinds = [block for block in content or () if block.get("type") != "tool_result"]
    return any(block.get("type") != "text" or block["text"].strip() for block in kinds)


def _check_request(ledger: Ledger, context: ActiveContext) -> None:
    """Check that the newest message a person sent is shown verbatim, or shortened in a context that is exhausted."""
    requests = [message for message in ledger.messages if _is_request(message)]
    if not requests:
        return
    newest = requests[-1]
    item = next((item for item in context.items if item.id == newest.id and item.kind in ("message", "stub")), None)
    assert item is not None, f"the newest request {newest.id} is not in the context"
    if item.kind == "stub":
        assert context.status == "exhausted"
        return
    text = rendered_text(context)
    content = newest.payload["content"]
    said = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    for each in said:
        assert not each.strip() or each in text


def _check_results(engine: Engine, thread: Thread, ledger: Ledger, context: ActiveContext) -> None:
    """Check that a result is withheld only where it answers no open call that the view has, whatever ids were used again."""
    text = rendered_text(context)
    lost = [
        item for item in context.items if item.kind == "message" and any(marker not in text for marker in _markers(item.text))
    ]
    if not lost:
        return
    with engine.database.read() as connection:
        facts = facts_of(connection, ThreadKey(engine.namespace, thread.id), [item.first_seq for item in lost])
    visible = {entry.seq for entry in ledger.visible()}
    for item, fact in zip(lost, facts, strict=True):
        kinds = {repair.kind for repair in context.repairs if repair.origin == item.id}
        assert kinds & {"orphan_result", "duplicate_result"}, f"{item.id} is not shown, and nothing says why"
        waited = fact.unit != fact.seq and fact.unit in visible
        assert not waited, f"the result {item.id} is withheld although a call of message {fact.unit} waited for it"


def _markers(text: str) -> list[str]:
    return re.findall(r"mark-\d+-x(?= )", text)


def _check_deleted(ledger: Ledger, context: ActiveContext) -> None:
    """Check that markers of messages that left the view are nowhere in it."""
    visible = " ".join(json.dumps(entry.payload, ensure_ascii=False) for entry in ledger.visible())
    text = rendered_text(context)
    for entry in ledger.entries:
        if entry.visible:
            continue
        for marker in re.findall(r"mark-\d+-\w+", json.dumps(entry.payload, ensure_ascii=False)):
            assert marker in visible or marker not in text, f"{marker} of the removed message {entry.id} is still shown"
