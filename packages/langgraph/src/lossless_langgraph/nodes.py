"""Nodes that store a graph's messages in its thread, and give the model the thread's active context."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from lossless import Budget, Engine, Thread
from lossless.errors import ConfigError
from lossless_langchain.connecting import engine_for
from lossless_langchain.middleware.following import followed
from lossless_langchain.middleware.ledger import Ledgers, with_ids
from lossless_langchain.middleware.merging import merged
from lossless_langchain.middleware.sizes import ToolSizes, budget_for, own_budget
from lossless_langchain.models import profile_name
from lossless_langchain.running import below, current_run, keeps_state, named_thread, nested_under
from lossless_langchain.summaries import summarize_with

__all__ = ["compaction_node", "pre_model_hook"]

Node = Runnable[Any, dict[str, Any]]


def pre_model_hook(
    engine: Engine | str | None,
    *,
    thread: str | Thread | None = None,
    model: Any = None,
    window: int | None = None,
    budget: Budget | None = None,
    overhead: int = 0,
    tools: Sequence[Any] = (),
    summarizer: Any = None,
    profile: str | None = None,
    input_messages_key: str = "messages",
    output_messages_key: str = "llm_input_messages",
) -> Node:
    """Make the ``pre_model_hook`` of ``create_react_agent``, or a node before the one that calls the model.

    It stores what is new in the state, and gives the active context as ``llm_input_messages``: below soft the state's own
    messages, above it summaries in place of the oldest ones. The state's messages are left as they are. Compaction goes on in the
    background.

    Args:
        engine: an engine, or the URL of one; None: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        thread: the thread, or its id; None: the one that the run's config names, within a sub-graph one below that.
        model: the chat model, for its window and its provider's rules.
        window: the model's context window in tokens, where neither the engine nor the model says it.
        budget: thresholds in detail, instead of a window.
        overhead: tokens of what else the prompt holds, such as the system prompt.
        tools: the model's tools, whose schemas count.
        summarizer: writes summaries: a chat model, its name, a runnable or a function; None: the engine's.
        profile: whose rules the messages must meet: ``openai``, ``anthropic`` or ``gemini``; None: the model's provider's.
        input_messages_key: where the state has its messages.
        output_messages_key: where the context goes.

    Raises:
        ConfigError: nothing says how large the window is, or what is said contradicts itself; in a run: it names no thread.
    """
    shown = _Shown(
        engine_for(engine), thread, model, own_budget(window, budget), overhead, tools, summarizer, profile, input_messages_key
    )
    return _node("pre_model_hook", lambda state, config: {output_messages_key: shown.messages(state, config)})


def compaction_node(
    engine: Engine | str | None,
    *,
    thread: str | Thread | None = None,
    model: Any = None,
    window: int | None = None,
    budget: Budget | None = None,
    overhead: int = 0,
    tools: Sequence[Any] = (),
    summarizer: Any = None,
    profile: str | None = None,
    input_messages_key: str = "messages",
    output_messages_key: str = "llm_input_messages",
) -> Node:
    """Make a node that does what :func:`pre_model_hook` does, and compacts what is above soft at once, not in the background.

    Behind the model's node it keeps the answer, too, and the next turn finds the thread compacted; before it, the context is the
    shortest. The context goes to a key of the state only if the graph's schema has that key.

    Args:
        engine: as for :func:`pre_model_hook`, and so the other arguments.
        thread: the thread.
        model: the chat model.
        window: its context window.
        budget: thresholds.
        overhead: tokens of what else the prompt holds.
        tools: the model's tools.
        summarizer: writes summaries.
        profile: whose rules the messages must meet.
        input_messages_key: where the state has its messages.
        output_messages_key: where the context goes.

    Raises:
        ConfigError: as :func:`pre_model_hook`.
    """
    shown = _Shown(
        engine_for(engine), thread, model, own_budget(window, budget), overhead, tools, summarizer, profile, input_messages_key
    )
    return _node("compaction", lambda state, config: {output_messages_key: shown.messages(state, config, compact=True)})


class _Shown:
    """What a model is shown of the states of a graph."""

    def __init__(
        self,
        engine: Engine,
        thread: str | Thread | None,
        model: Any,
        budget: Budget | None,
        overhead: int,
        tools: Sequence[Any],
        summarizer: Any,
        profile: str | None,
        key: str,
    ) -> None:
        self._engine = engine
        self._thread = thread.id if isinstance(thread, Thread) else thread
        self._budget = budget_for(engine, model, budget)
        self._profile = profile or (profile_name(model) if model is not None else None)
        schemas = ToolSizes(engine).count(tools, None, self._profile or "openai")
        self._budget = self._budget.adjusted(overhead=overhead + schemas)
        self._claim = summarize_with(engine, summarizer) if summarizer is not None else lambda _thread_id: None
        self._key = key
        self._ledgers = Ledgers()

    def messages(self, state: Any, config: RunnableConfig, *, compact: bool = False) -> list[BaseMessage]:
        """Store what is new in a state, and give the active context."""
        held = with_ids(_value(state, self._key))
        thread_id, whole = self._thread or _thread_id(config, held), keeps_state(config)
        thread, ledger = self._engine.thread(thread_id, budget=self._budget), self._ledgers.of(thread_id)
        self._claim(thread_id)

        def show() -> Any:
            return thread.context(format="langchain", profile=self._profile)

        context = followed(ledger, thread, held, show, whole=whole)
        if compact and thread.compact(by_hand=False).changed:
            context = show()
        return list(merged(context, held, held))  # type: ignore[arg-type]


def _node(name: str, give: Callable[[Any, RunnableConfig], dict[str, Any]]) -> Node:
    async def agive(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await asyncio.to_thread(give, state, config)

    return RunnableLambda(give, afunc=agive, name=name)


def _thread_id(config: RunnableConfig, state: Sequence[BaseMessage]) -> str:
    """Give the thread of a run; a graph within another one has a thread of its own, below that one's."""
    named, above, caller = named_thread(config), nested_under(config), current_run()
    over = caller.thread_id if caller is not None and named in (None, caller.named) else named
    if over is None:
        raise ConfigError(
            "the run's config names no thread", hint='run it with {"configurable": {"thread_id": "…"}}, or give thread='
        )
    return below(over, above, next((message.id for message in state if message.id), "")) if above else over


def _value(state: Any, key: str) -> Sequence[Any]:
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return found if isinstance(found, (list, tuple)) else ()
