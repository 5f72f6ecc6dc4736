"""Hooks: each is called when it is said to be, and no plugin breaks the engine or another plugin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import lossless
from lossless import Engine, Note, SummarizeRequest
from lossless.errors import ConfigError, PluginError
from lossless.messages import Rendered, Text, Turn
from lossless.tokens import ModelInfo
from lossless_children import message, opened
from lossless_scripts import honest


def filled(engine: Engine, count: int = 80) -> lossless.Thread:
    thread = engine.thread("t")
    thread.append([message("m", number) for number in range(count)], compact=False)
    return thread


class Notes:
    """A plugin that takes note of everything."""

    def __init__(self) -> None:
        self.before: list[tuple[str, Mapping[str, Any]]] = []
        self.after: list[tuple[str, Any]] = []
        self.events: list[str] = []

    @lossless.hookimpl
    def lossless_before_compaction(self, thread_id: str, plan: Mapping[str, Any]) -> None:
        self.before.append((thread_id, plan))

    @lossless.hookimpl
    def lossless_after_compaction(self, thread_id: str, result: Any) -> None:
        self.after.append((thread_id, result))

    @lossless.hookimpl
    def lossless_event(self, event: Mapping[str, Any]) -> None:
        self.events.append(str(event["name"]))

    @lossless.hookimpl
    def lossless_correction(self, message: lossless.Message, thread_id: str) -> None:
        self.asked = [*getattr(self, "asked", []), (thread_id, message.text)]


def test_a_request_after_a_summary_is_shown_to_a_plugin_that_tells_corrections() -> None:
    notes = Notes()
    with opened("sqlite://", window=2_000, background=False, plugins=[notes]) as engine:
        thread = filled(engine)
        assert thread.compact().changed
        thread.append([{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."}])
    assert notes.asked == [("t", "Go.")]


def test_a_compaction_is_told_before_and_after() -> None:
    notes = Notes()
    with opened("sqlite://", window=2_000, background=False, plugins=[notes]) as engine:
        result = filled(engine).compact()
    ((thread_id, plan),) = notes.before
    assert thread_id == "t"
    assert plan["tokens"] > plan["soft"] > plan["target"]
    assert plan["by_hand"] is True
    assert notes.after == [("t", result)]
    assert notes.events[0] == "compaction.started"
    assert notes.events[-1] == "compaction.finished"
    assert "promoted" in notes.events


def test_nothing_is_told_below_soft() -> None:
    notes = Notes()
    with opened("sqlite://", window=200_000, plugins=[notes]) as engine:
        filled(engine).append(message("m", 99))
        engine.thread("t").compact()
    assert (notes.before, notes.after, notes.events) == ([], [], [])


def test_trouble_is_told() -> None:
    notes = Notes()

    def broken(request: SummarizeRequest) -> str:
        raise ConnectionError("no network")

    with opened("sqlite://", window=2_000, background=False, plugins=[notes], summarizer=broken) as engine:
        filled(engine).compact()
    assert "escalation" in notes.events
    assert "degraded" in notes.events


class Broken:
    """A plugin whose every note-taking fails."""

    @lossless.hookimpl
    def lossless_before_compaction(self) -> None:
        raise RuntimeError("broken plugin")

    @lossless.hookimpl
    def lossless_after_compaction(self) -> None:
        raise RuntimeError("broken plugin")

    @lossless.hookimpl
    def lossless_event(self) -> None:
        raise RuntimeError("broken plugin")


@pytest.mark.parametrize("order", [0, 1])
def test_a_plugin_that_fails_to_take_note_harms_nobody(order: int) -> None:
    notes = Notes()
    plugins: list[object] = [notes, Broken()]
    with opened("sqlite://", window=2_000, background=False, plugins=plugins[::-1] if order else plugins) as engine:
        thread = filled(engine)
        assert thread.compact().changed
        assert engine.verify().ok
    assert len(notes.before) == len(notes.after) == 1
    assert notes.events[-1] == "compaction.finished"


class Headlines:
    """A plugin that summarises."""

    def __init__(self) -> None:
        self.asked = 0

    @lossless.hookimpl
    def lossless_summarize(self, request: SummarizeRequest) -> str | None:
        self.asked += 1
        return honest(request)


class Abstaining(Headlines):
    @lossless.hookimpl
    def lossless_summarize(self, request: SummarizeRequest) -> None:
        self.asked += 1


class Later(Headlines):
    @lossless.hookimpl
    async def lossless_summarize(self, request: SummarizeRequest) -> str:
        self.asked += 1
        return honest(request)


def compacted(*plugins: object, **options: Any) -> tuple[int, list[dict[str, Any]]]:
    """Compact a thread with plugins; give the model calls, and what its summaries say of themselves."""
    with opened("sqlite://", window=2_000, background=False, plugins=plugins, **options) as engine:
        thread = filled(engine)
        result = thread.compact()
        assert engine.verify().ok
        shown = thread.context().items
        return result.model_calls, [thread.describe(item.id) for item in shown if item.kind == "summary"]


@pytest.mark.parametrize("plugin", [Headlines(), Later()], ids=["sync", "async"])
def test_a_plugin_summarises(plugin: Headlines) -> None:
    calls, summaries = compacted(plugin)
    assert calls == plugin.asked > 0
    assert summaries
    assert all(summary["level"] < 3 and not summary["degraded"] for summary in summaries)


def test_one_that_abstains_leaves_it_to_the_next() -> None:
    abstaining, headlines = Abstaining(), Headlines()
    _, summaries = compacted(headlines, abstaining)
    assert abstaining.asked == headlines.asked > 0
    assert all(not summary["degraded"] for summary in summaries)


def test_where_all_abstain_the_engine_writes_itself() -> None:
    _, summaries = compacted(Abstaining())
    assert summaries
    assert all(summary["level"] == 3 and summary["degraded"] for summary in summaries)


def test_a_summarizer_given_to_the_engine_comes_first() -> None:
    headlines = Headlines()
    calls, _ = compacted(headlines, summarizer=honest)
    assert calls > 0
    assert headlines.asked == 0


def test_a_plugin_may_come_later_and_go_again() -> None:
    headlines = Headlines()
    with opened("sqlite://", window=2_000, background=False) as engine:
        take_out = engine.plugins.register(headlines)
        thread = filled(engine)
        assert thread.compact().model_calls == headlines.asked > 0
        take_out()
        thread.append([message("new", number) for number in range(80)], compact=False)
        result = thread.compact()
        assert result.model_calls == 0
        assert result.changed


class Shouting:
    """A policy of a plugin's own."""

    name = "shouting"

    def write(self, messages: Sequence[lossless.Message], budget_tokens: int, goal: str | None = None) -> Note:
        text = " ".join(message.text.split()[0].upper() for message in messages)
        return Note(text=text[: 2 * budget_tokens], kept=0, total=0)

    def condense(self, notes: Sequence[Note], budget_tokens: int, goal: str | None = None) -> Note:
        return Note(text=" ".join(note.text for note in notes)[: 2 * budget_tokens], kept=0, total=0)


class Plain:
    """A format of a plugin's own: a payload is a speaker and what was said."""

    name = "plain/1"

    def role(self, payload: Mapping[str, Any]) -> str:
        return str(payload["who"])

    def read(self, payload: Mapping[str, Any]) -> tuple[Text, ...]:
        return (Text(str(payload["said"])),)

    def render(self, turns: Sequence[Turn], profile: Any = None) -> Rendered:
        return Rendered(
            [{"who": turn.role, "said": "\n".join(p.text for p in turn.parts if isinstance(p, Text))} for turn in turns]
        )


class Words:
    """A token counter of a plugin's own: a word is a token."""

    name = "words"
    exact = True

    def count(self, text: str) -> int:
        return len(text.split())


class Provider:
    def __init__(self) -> None:
        self.redacting: list[Mapping[str, Any]] = []

    @lossless.hookimpl
    def lossless_policies(self) -> dict[str, Shouting]:
        return {"shouting": Shouting()}

    @lossless.hookimpl
    def lossless_formats(self) -> list[Plain]:
        return [Plain()]

    @lossless.hookimpl
    def lossless_redact(self, message: Mapping[str, Any]) -> None:
        self.redacting.append(message)

    @lossless.hookimpl
    def lossless_models(self) -> list[ModelInfo]:
        return [ModelInfo(name="house-model", window=4_321)]

    @lossless.hookimpl
    def lossless_token_counter(self, model: str | None) -> Words | None:
        return Words() if model == "house-model" else None

    @lossless.hookimpl
    def lossless_model(self, name: str) -> Callable[[str], str] | None:
        return str.upper if name == "parrot:grey" else None


def test_policies_formats_models_and_counters_of_plugins_are_used() -> None:
    provider = Provider()
    with opened("sqlite://", model="house-model", policy="shouting", background=False, plugins=[provider]) as engine:
        assert engine.budget is not None
        assert engine.budget.window == 4_321
        assert engine.counter.count("three little words") == 3
        thread = engine.thread("t")
        thread.append([{"who": "user", "said": "hello there"}], format="plain")
        assert thread.messages()[0].payload == {"who": "user", "said": "hello there"}
        assert thread.messages()[0].text == "hello there"
        assert provider.redacting == [{"who": "user", "said": "hello there"}]
        assert thread.context().messages == [{"role": "user", "content": "hello there"}]
        assert thread.context(format="plain", profile="openai").messages == [{"who": "user", "said": "hello there"}]
        thread.append([{"who": "user", "said": f"word{n} " * 40} for n in range(200)])
        assert any("WORD" in item.text for item in thread.context().items if item.kind == "summary")


def test_a_model_is_found_by_name_and_an_unknown_one_says_what_to_install() -> None:
    with opened("sqlite://", plugins=[Provider()]) as engine:
        assert engine.plugins.model("parrot:grey")("hi") == "HI"
        with pytest.raises(PluginError, match="'parrot:green'"):
            engine.plugins.model("parrot:green")


def test_a_format_registered_later_is_read_like_any_other() -> None:
    with opened("sqlite://", window=8_000) as engine:
        engine.plugins.register(Provider())
        thread = engine.thread("t")
        thread.append({"who": "user", "said": "hello there"}, format="plain")
        assert thread.messages()[0].text == "hello there"
        assert thread.context().messages == [{"role": "user", "content": "hello there"}]


def test_a_name_that_two_plugins_provide_is_refused() -> None:
    for plugins in ([Provider(), Provider()],):
        with pytest.raises(PluginError) as caught:
            opened("sqlite://", plugins=plugins)
        assert caught.value.hint


class Misspelt:
    @lossless.hookimpl
    def lossless_sumarize(self, request: SummarizeRequest) -> str:
        return ""


class WrongArguments:
    @lossless.hookimpl
    def lossless_summarize(self, prompt: str) -> str:
        return ""


@pytest.mark.parametrize("plugin", [Misspelt(), WrongArguments(), Misspelt, Notes])
def test_a_plugin_that_does_not_fit_is_refused_and_leaves_no_trace(plugin: object) -> None:
    with pytest.raises(ConfigError) as caught:
        opened("sqlite://", plugins=[plugin])
    assert caught.value.hint
    with opened("sqlite://", window=2_000, background=False) as engine:
        before = engine.plugins.names()
        with pytest.raises(PluginError):
            engine.plugins.register(plugin)
        assert engine.plugins.names() == before
        assert filled(engine).compact().model_calls == 0


def test_the_same_plugin_twice_is_refused() -> None:
    notes = Notes()
    with opened("sqlite://", plugins=[notes]) as engine:
        with pytest.raises(PluginError):
            engine.plugins.register(notes)
        assert len(engine.plugins.names()) == len(set(engine.plugins.names()))


def test_a_hook_may_use_the_engine() -> None:
    class Busy:
        engine: Engine | None = None

        @lossless.hookimpl
        def lossless_after_compaction(self, thread_id: str, result: Any) -> None:
            assert self.engine is not None
            if len(self.engine.thread("log").messages()) < 3:
                self.engine.thread("log").append({"role": "user", "content": f"{thread_id} {result.status}"})
                self.engine.thread(thread_id).append({"role": "user", "content": "noted " + "and noted " * 1_000})
                self.engine.thread(thread_id).context()
                self.engine.thread(thread_id).wait(5)

    for background in (False, True):
        busy = Busy()
        with opened("sqlite://", window=2_000, background=background, plugins=[busy]) as engine:
            busy.engine = engine
            thread = engine.thread("t")
            done = threading.Event()

            def work(thread: lossless.Thread = thread, done: threading.Event = done) -> None:
                thread.append([message("m", number) for number in range(60)])
                thread.wait(20)
                done.set()

            worker = threading.Thread(target=work, daemon=True)
            worker.start()
            assert done.wait(30), "a hook that uses the engine waits for itself"
            assert engine.thread("log").messages()


def test_every_specified_hook_is_called_in_these_tests() -> None:
    specified = {name for name in lossless.hookspecs.__all__ if name.startswith("lossless_")}
    here = {name for plugin in (Notes, Headlines, Provider) for name in vars(plugin) if name.startswith("lossless_")}
    assert specified <= here
