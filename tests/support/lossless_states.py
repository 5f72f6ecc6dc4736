"""One thread under any sequence of operations, as a machine for hypothesis: after every step, all that is promised holds."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lossless import Cipher, Engine, Thread
from lossless.dag.heads import read_head
from lossless.store.keys import ThreadKey
from lossless_invariants import Ledger, check_cache, check_context, check_store, covered, view_bytes
from lossless_scripts import ADVERSARIES, INJECTIONS, Counting

__all__ = ["BOUNDED", "TEXTS", "Threads"]

SENTENCES = (
    "The invoice 4711 of 12 May 2024 amounts to $1,250.40 and is due in 14 days.",
    "Ich möchte die Bestellung ÄÖÜ-77 auf Donnerstag verschieben, bitte bestätigen.",
    "请把文件 /srv/data/报告.csv 发送到 admin@example.org，谢谢。",
    "予約番号は RX-2291 です。出発は 7月3日 09:45 に変更してください。",
    "يرجى إلغاء الرحلة رقم 88 وإعادة المبلغ 320 ريال.",
    "เที่ยวบิน TG 661 ออกเดินทางเวลา 08:10 น.",
    "👩‍🚀 launch 🚀 at T-10 — don't forget 🧯!",
    "def total(rows): return sum(r['amount'] for r in rows if r['id'] != 0x1F)",
    '{"user_id": "mia_li_3668", "items": [{"sku": "A-9", "qty": 3}], "ok": true}',
    "aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQgdGV4dCB0aGF0IGdvZXMgb24gYW5kIG9u",
    "<b>Error</b>: connect ECONNREFUSED 10.0.0.7:5432 & retry",
    "Decision: we ship version 2.4.1 on Friday; Tom owns the rollback plan.",
    *INJECTIONS,
)
CALL_IDS = ("call_1", "call_2", "c", "call_1")  # few, so that they are reused
ODD = ({"n": 1}, {"n": 1.0}, {"n": True}, {"n": -0.0}, {"big": 2**200}, {"z": 1, "a": 2}, {"text": "\ud800 \0"})
TEXTS = st.builds(
    lambda sentence, times, tail: (sentence + " ") * times + tail,
    st.sampled_from(SENTENCES),
    st.sampled_from([1, 1, 2, 5, 20, 60]),
    st.text(max_size=8),
)
SCRIPTS = st.sampled_from([None, *ADVERSARIES])
POLICIES = st.sampled_from(["source_first", "source_first", "lossy", "pointer", "blank"])
WINDOWS = st.sampled_from([300, 500, 800, 1_500, 3_000, 8_000])
TOOLS = ({"type": "function", "function": {"name": "look", "description": "Looks something up in the archive of the desk."}},)
VIEWS = (("openai", "openai"), ("anthropic", "anthropic"), ("gemini", "openai"))


@cache
def empty_database() -> Path:
    """Make a database once, to be copied: migrating costs more than most examples."""
    path = Path(tempfile.mkdtemp(prefix="lossless-states-")) / "state.db"
    Engine(f"sqlite:///{path}", load_plugins=False).close()
    return path


class Threads(RuleBasedStateMachine):
    """Appends, revises, deletes, takes back and compacts one thread, and reopens its database.

    ``kind``: the one scripted model that summarises; None: now this one, now that. ``cipher``: encrypts the database.
    ``taken``: the steps that were taken and checked in all.
    """

    kind: str | None = None
    cipher: Cipher | None = None
    taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="lossless-states-")
        self.url, self.namespace = self.database()
        self.ledger = Ledger()
        self.counter = 0
        self.script: Counting | None = None
        self.open_calls: list[str] = []
        self.skipped = 0.0
        self.steps = 0
        self.engine: Engine = None  # type: ignore[assignment]
        self.thread: Thread = None  # type: ignore[assignment]

    def database(self) -> tuple[str, str]:
        """Give the URL of a database, and a namespace in it without threads."""
        return f"sqlite:///{shutil.copy(empty_database(), self.folder.name)}", "default"

    @initialize(window=WINDOWS, script=SCRIPTS, policy=POLICIES, background=st.booleans())
    def open(self, window: int, script: str | None, policy: str, background: bool) -> None:
        script = self.kind or script
        self.script = None if script is None else Counting(ADVERSARIES[script])
        self.engine = Engine(
            self.url,
            window=window,
            summarizer=self.script,
            policy=policy,
            namespace=self.namespace,
            cipher=self.cipher,
            background=background,
            load_plugins=False,
        )
        self.engine.guard._clock = lambda: time.monotonic() + self.skipped
        self.thread = self.engine.thread("t")

    @rule(window=WINDOWS, script=SCRIPTS, policy=POLICIES, background=st.booleans())
    def reopen(self, window: int, script: str | None, policy: str, background: bool) -> None:
        before = covered(self.engine, self.thread)
        self.engine.close()
        self.open(window, script, policy, background)
        assert covered(self.engine, self.thread) == before

    # Appending

    def marked(self, text: str) -> str:
        self.counter += 1
        return f"mark-{self.counter}-x {text}"

    def append(self, messages: list[dict[str, Any]], sync: bool = False, format: str | None = None) -> None:
        given = deepcopy(messages)
        refs = (self.thread.sync if sync else self.thread.append)(given, format=format)
        assert given == messages, "what was given was changed"
        if not sync:
            assert len(refs) == len(messages)
        for ref, payload in zip(refs, messages[-len(refs) :] if refs else [], strict=True):
            known = self.ledger.newest(ref.id)
            if known is None or known.seq != ref.seq:
                self.ledger.add(ref.id, ref.seq, payload)
        assert self.thread.wait(60)

    def given_id(self, wanted: bool) -> dict[str, str]:
        return {"id": f"given-{self.counter}"} if wanted else {}

    @rule(text=TEXTS, role=st.sampled_from(["user", "user", "assistant", "system", "developer"]), own=st.booleans())
    def say(self, text: str, role: str, own: bool) -> None:
        said = self.marked(text)
        self.append([{**self.given_id(own), "role": role, "content": said}])

    @rule(texts=st.lists(TEXTS, min_size=2, max_size=6), own=st.booleans())
    def talk(self, texts: list[str], own: bool) -> None:
        messages = []
        for number, text in enumerate(texts):
            said = self.marked(text)
            messages.append({"role": "assistant" if number % 2 else "user", "content": said, **self.given_id(own)})
        self.append(messages)

    @rule(texts=st.lists(TEXTS, min_size=2, max_size=3), turns=st.integers(8, 30))
    def talk_for_long(self, texts: list[str], turns: int) -> None:
        said = [self.marked(texts[number % len(texts)]) for number in range(turns)]
        self.append([{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(said)])

    @rule(text=TEXTS)
    def think(self, text: str) -> None:
        thought = {"type": "thinking", "thinking": f"hidden-thought {text}", "signature": "c2ln"}
        said = {"type": "text", "text": self.marked(text)}
        self.append([{"role": "assistant", "content": [thought, said]}], format="anthropic")

    @rule(seconds=st.sampled_from([1.0, 40.0, 4_000.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.skipped += seconds

    @rule(extra=st.sampled_from(ODD))
    def say_something_odd(self, extra: dict[str, Any]) -> None:
        self.append([{"role": "user", "content": self.marked(""), "name": "eve", "metadata": extra}])

    @rule(
        ids=st.lists(st.sampled_from(CALL_IDS), min_size=1, max_size=3, unique=True),
        results=st.lists(TEXTS, min_size=3, max_size=3),
        answered=st.integers(0, 3),
        anthropic=st.booleans(),
        later=st.booleans(),
    )
    def call_tools(self, ids: list[str], results: list[str], answered: int, anthropic: bool, later: bool) -> None:
        answers = [(id, self.marked(text)) for id, text in zip(ids, results, strict=False)]
        unanswered = [id for id, _text in answers[answered:]]
        self.open_calls = [id for id in self.open_calls if id not in ids] + unanswered
        asked = self.marked("Let me look.")
        if anthropic:
            calls = [{"type": "tool_use", "id": id, "name": "look", "input": {"q": "π", "n": 1.0}} for id in ids]
            blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in answers[:answered]]
            messages = [{"role": "assistant", "content": [{"type": "text", "text": asked}, *calls]}]
            messages += [{"role": "user", "content": blocks}] if blocks else []
        else:
            function = {"name": "look", "arguments": json.dumps({"q": "π"}, ensure_ascii=False)}
            calls = [{"id": id, "type": "function", "function": function} for id in ids]
            messages = [{"role": "assistant", "content": asked, "tool_calls": calls}]
            messages += [{"role": "tool", "tool_call_id": id, "content": text} for id, text in answers[:answered]]
        format = "anthropic" if anthropic else "openai"
        if later:
            for message in messages:
                self.append([message], format=format)
        else:
            self.append(messages, format=format)

    @precondition(lambda self: self.open_calls)
    @rule(text=TEXTS, data=st.data())
    def answer_late(self, text: str, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(self.open_calls))
        self.open_calls.remove(id)
        self.append([{"role": "tool", "tool_call_id": id, "content": self.marked(text)}], format="openai")

    @rule(text=TEXTS)
    def answer_what_nobody_asked(self, text: str) -> None:
        self.append([{"role": "tool", "tool_call_id": "unasked", "content": self.marked(text)}], format="openai")

    # Changing

    def given(self) -> list[str]:
        return sorted({entry.id for entry in self.ledger.entries if "id" in entry.payload})

    @precondition(lambda self: self.given())
    @rule(text=TEXTS, data=st.data())
    def revise(self, text: str, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(self.given()))
        newest = self.ledger.newest(id)
        assert newest is not None
        self.append([{**newest.payload, "content": self.marked(text)}])

    @precondition(lambda self: self.given())
    @rule(data=st.data())
    def replay_by_id(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.given()), min_size=1, max_size=4, unique=True))
        newest = [entry for id in ids if (entry := self.ledger.newest(id)) is not None]
        refs = self.thread.append([deepcopy(entry.payload) for entry in newest])
        assert self.thread.wait(60)  # it may have begun a compaction although it added nothing
        assert [(ref.id, ref.seq) for ref in refs] == [(entry.id, entry.seq) for entry in newest]

    @precondition(lambda self: self.ledger.visible())
    @rule(data=st.data(), text=TEXTS, new=st.booleans())
    def sync(self, data: st.DataObject, text: str, new: bool) -> None:
        visible = self.ledger.visible()
        start = data.draw(st.integers(0, len(visible) - 1))
        transcript = [deepcopy(entry.payload) for entry in visible[start:]]
        before = len(self.ledger.entries)
        if new:
            transcript.append({"role": "user", "content": self.marked(text)})
        self.append(transcript, sync=True)
        assert len(self.ledger.entries) == before + new

    @precondition(lambda self: self.ledger.visible())
    @rule(text=TEXTS, view=st.sampled_from(VIEWS[:2]))
    def bring_a_context_back(self, text: str, view: tuple[str, str]) -> None:
        profile, format = view
        shown = self.thread.context(profile=profile, format=format).messages
        new = {"role": "user", "content": self.marked(text)}
        before = len(self.ledger.entries)
        refs = self.thread.sync([*shown, new], format=format)
        assert self.thread.wait(60)
        for ref in refs:
            self.ledger.add(ref.id, ref.seq, self.thread.expand(ref.id)[0].payload)
        added = [entry.payload for entry in self.ledger.entries[before:]]
        assert new in added
        assert all(payload in [*shown, new] for payload in added)

    @precondition(lambda self: self.ledger.visible())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        ids = [entry.id for entry in self.ledger.visible()]
        wanted = data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True))
        gone = self.thread.delete(wanted)
        assert set(wanted) <= set(gone)
        self.ledger.delete(gone)

    @rule()
    def undo(self) -> None:
        assume(self.ledger.entries)
        assert self.thread.undo() is self.ledger.undo()

    @precondition(lambda self: self.ledger.entries)
    @rule(force=st.booleans())
    def compact(self, force: bool) -> None:
        before, mendable = view_bytes(self.thread.context()), self.some_are_degraded()
        result = self.thread.compact(force=force)
        after = view_bytes(self.thread.context())
        assert result.changed is (before != after), (result, [(i.kind, i.id, i.tokens) for i in self.thread.context().items])
        assert not result.changed or result.summaries
        assert (result.status == "done") is (result.reason == "")
        if result.summaries:
            self.ledger.moves.append(("compaction", frozenset()))
            assert result.tokens_after < result.tokens_before or mendable  # a better summary may be longer
        if force and self.script is not None and self.some_are_degraded():
            self.ask_for_better_ones()
            return
        calls = self.script.calls if self.script is not None else 0
        again = self.thread.compact(force=force)
        if result.status != "partial":
            assert not again.changed
            assert again.model_calls == 0
            assert view_bytes(self.thread.context()) == after
            assert self.script is None or self.script.calls == calls
        elif again.summaries:
            self.ledger.moves.append(("compaction", frozenset()))

    def some_are_degraded(self) -> bool:
        key = ThreadKey(self.engine.namespace, self.thread.id)
        with self.engine.database.read() as connection:
            head = read_head(connection, key)
            assert head is not None
            view = self.engine.views.load(connection, key.namespace, head.view)
        return any(ref.degraded for ref in view.summaries)

    def ask_for_better_ones(self) -> None:
        """Ask by hand for summaries that a model failed to write: it is asked again while that helps, and then no more."""
        for _ in range(8):
            again = self.thread.compact(force=True)
            if again.summaries:
                self.ledger.moves.append(("compaction", frozenset()))
            if not again.changed and not again.model_calls:
                return
        raise AssertionError("a model that fails is asked for ever")

    # What must hold

    @invariant()
    def everything_holds(self) -> None:
        if not self.ledger.entries:
            return
        self.steps += 1
        type(self).taken += 1
        check_store(self.engine, self.thread, self.ledger, verify=self.steps % 8 == 0)
        for profile, format in VIEWS:
            check_context(self.engine, self.thread, self.ledger, profile=profile, format=format)
        check_context(self.engine, self.thread, self.ledger, overhead=20, reserve=60, tools=TOOLS)
        check_cache(self.thread, self.ledger)
        assert self.script is None or all("hidden-thought" not in request.text for request in self.script.seen)

    def teardown(self) -> None:
        if self.engine is not None:
            if self.ledger.entries:
                check_store(self.engine, self.thread, self.ledger)
            self.engine.close()
        self.folder.cleanup()


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)  # explaining would trace every line
BOUNDED = settings(max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=QUIET, phases=PHASES)
Threads.TestCase.settings = BOUNDED
