"""Any sequence of operations with erasures among them: what was erased is nowhere, and everything else is as it was given."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lossless import Engine
from lossless.messages import find_profile, problems
from lossless_postgres import Server

WORDS = st.sampled_from(["", "and some more words of it " * 3, "the invoice 4711 of 12 May is due: $1,250.40. " * 4])


@cache
def empty_database() -> Path:
    """Make a database once, to be copied."""
    path = Path(tempfile.mkdtemp(prefix="lossless-erasures-")) / "state.db"
    Engine(f"sqlite:///{path}", load_plugins=False).close()
    return path


class Erasures(RuleBasedStateMachine):
    """Appends to threads and branches, compacts, goes back and forth, and erases."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="lossless-erasures-")
        self.url, self.namespace = self.database()
        self.count = 0
        self.threads = ["t"]
        self.said: dict[tuple[str, str], list[str]] = {}  # by thread that stores it and id: the marks of all its revisions
        self.gone: set[str] = set()
        self.engine: Engine = None  # type: ignore[assignment]

    def database(self) -> tuple[str, str]:
        """Give the URL of a database, and a namespace in it without threads."""
        return f"sqlite:///{shutil.copy(empty_database(), self.folder.name)}", "default"

    @initialize()
    def open(self) -> None:
        self.engine = Engine(self.url, window=900, namespace=self.namespace, background=False, load_plugins=False)
        self.append("t", [{"id": f"start-{n}", "role": "user", "content": self.marked("begin ")} for n in range(3)])

    def marked(self, text: str) -> str:
        self.count += 1
        return f"mark-{self.count}-x {text}"

    def append(self, name: str, messages: list[dict[str, Any]]) -> None:
        for ref, message in zip(self.engine.thread(name).append(messages), messages, strict=True):
            found = self.engine.thread(name).expand(ref.id)[0]
            if not found.erased:
                marks = [word for word in json.dumps(message).replace('"', " ").split() if word.startswith("mark-")]
                self.said.setdefault((name, ref.id), []).extend(marks)

    def some_thread(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.threads))

    def some_id(self, data: st.DataObject, name: str) -> str:
        return data.draw(st.sampled_from([m.id for m in self.engine.thread(name).messages(deleted=True)]))

    @rule(data=st.data(), words=WORDS, count=st.integers(1, 5))
    def talk(self, data: st.DataObject, words: str, count: int) -> None:
        roles = ("user", "assistant")
        said = [{"role": roles[n % 2], "content": self.marked(words)} for n in range(count)]
        self.append(self.some_thread(data), said)

    @rule(data=st.data())
    def call_a_tool(self, data: st.DataObject) -> None:
        call = {"id": f"call_{self.count}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        self.append(
            self.some_thread(data),
            [
                {"role": "assistant", "content": self.marked("I look."), "tool_calls": [call]},
                {"role": "tool", "tool_call_id": call["id"], "content": self.marked("found it")},
            ],
        )

    @rule(data=st.data())
    def say_again_by_id(self, data: st.DataObject) -> None:
        name = self.some_thread(data)
        self.append(name, [{"id": self.some_id(data, name), "role": "user", "content": self.marked("another content")}])

    @precondition(lambda self: len(self.threads) < 4)
    @rule(data=st.data())
    def branch(self, data: st.DataObject) -> None:
        name = self.some_thread(data)
        self.threads.append(self.engine.thread(name).branch(at=self.some_id(data, name), thread_id=f"b{len(self.threads)}").id)

    @rule(data=st.data(), force=st.booleans())
    def compact(self, data: st.DataObject, force: bool) -> None:
        self.engine.thread(self.some_thread(data)).compact(force=force)

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        thread = self.engine.thread(self.some_thread(data))
        if not thread.snapshots():
            thread.snapshot("s")
        elif data.draw(st.booleans()):
            thread.undo()
        else:
            thread.restore("s")

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = self.some_thread(data)
        self.engine.thread(name).delete([self.some_id(data, name)])

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        name = self.some_thread(data)
        left = self.engine.erase(name, [self.some_id(data, name)], purge=False)
        assert left
        for stone in left:
            self.gone.update(self.said.get((stone.thread_id, stone.message_id), ()))

    @rule()
    def collect(self) -> None:
        self.engine.collect_garbage()

    @invariant()
    def everything_holds(self) -> None:
        if self.engine is None:
            return
        report = self.engine.verify()
        assert report.ok, report.problems
        for name in self.threads:
            thread = self.engine.thread(name)
            messages = thread.messages(deleted=True)
            stored = json.dumps([m.payload for m in messages])
            shown = ""
            for profile, format in (("openai", "openai"), ("anthropic", "anthropic")):
                context = thread.context(profile=profile, format=format)
                assert problems(context.messages, find_profile(profile), context.system) == []
                shown += json.dumps([context.system, context.messages])
            assert not [mark for mark in self.gone if f"{mark} " in stored + shown]
            for (owner, id), marks in self.said.items():
                if owner == name and marks and marks[-1] not in self.gone:
                    assert marks[-1] in thread.expand(id)[0].text

    def teardown(self) -> None:
        if self.engine is not None:
            for mark in sorted(self.gone)[:5]:
                assert not self.engine.grep(f"{mark} ").items
            self.engine.close()
        self.folder.cleanup()


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
Erasures.TestCase.settings = settings(
    max_examples=8, stateful_step_count=16, deadline=None, suppress_health_check=QUIET, phases=PHASES
)


class TestErasures(Erasures.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


class PostgresErasures(Erasures):
    """The same, on PostgreSQL: in one database, a namespace for each example."""

    url_of_run = ""

    def database(self) -> tuple[str, str]:
        return self.url_of_run, uuid.uuid4().hex


PostgresErasures.TestCase.settings = settings(Erasures.TestCase.settings, max_examples=3, stateful_step_count=12)


@pytest.mark.usefixtures("_postgres_for_erasures")
class TestErasuresOnPostgres(PostgresErasures.TestCase):  # type: ignore[misc,valid-type]
    """The bounded run of the normal suite."""


@pytest.fixture(scope="module")
def _postgres_for_erasures(postgres: Server) -> Iterator[None]:
    with postgres.database() as url:
        PostgresErasures.url_of_run = url
        yield


class LongErasures(Erasures):
    """The same, for longer."""


LongErasures.TestCase.settings = settings(Erasures.TestCase.settings, max_examples=200, stateful_step_count=40)
TestLongErasures = pytest.mark.slow(pytest.mark.timeout(3_600)(LongErasures.TestCase))
