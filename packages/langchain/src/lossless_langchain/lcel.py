"""The active context for chains of LCEL."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from lossless import Budget, Engine
from lossless.errors import ConfigError
from lossless_langchain.codec import decode_message
from lossless_langchain.running import thread_of

__all__ = ["WHOLE", "lossless_context"]

WHOLE = Budget(window=1_000_000_000, reserve=0)
"""The budget of whoever shows a whole view."""


def lossless_context(
    engine: Engine, *, thread: str | None = None, overhead: int = 0, profile: str | None = None
) -> Runnable[Any, list[AnyMessage]]:
    """Make a runnable that gives a thread's active context as messages; it stores nothing.

    As ``RunnablePassthrough.assign(history=lossless_context(engine))`` it gives the history for a prompt; as
    ``lossless_context(engine) | model`` the messages of its input, in whatever form a chat model takes them, follow the context.

    Args:
        engine: whose threads are shown. One without a window shows the whole view.
        thread: the thread's id; None: the one that the config names (``thread_id`` or ``session_id``).
        overhead: tokens of what else the prompt holds.
        profile: whose rules the messages must meet: ``openai``, ``anthropic`` or ``gemini``; None: ``openai``.
    """

    def show(given: Any, config: RunnableConfig) -> list[AnyMessage]:
        thread_id = thread or thread_of(config)
        if thread_id is None:
            raise ConfigError("no thread is named", hint='invoke with config={"configurable": {"thread_id": "…"}}')
        budget = None if engine.budget is not None else WHOLE
        context = engine.thread(thread_id, budget=budget).context(format="langchain", overhead=overhead, profile=profile)
        return [*map(decode_message, context.messages), *_messages(given)]  # type: ignore[list-item]

    async def ashow(given: Any, config: RunnableConfig) -> list[AnyMessage]:
        return await asyncio.to_thread(show, given, config)

    return RunnableLambda(show, afunc=ashow, name="lossless_context")


def _messages(given: Any) -> list[BaseMessage]:
    if isinstance(given, str):
        return [HumanMessage(given)]
    if isinstance(given, BaseMessage):
        return [given]
    if isinstance(given, PromptValue):
        return given.to_messages()
    if not isinstance(given, (list, tuple)):
        return []
    try:
        return convert_to_messages(given)
    except (KeyError, NotImplementedError, TypeError, ValueError):  # other values than a chat model takes, documents perhaps
        return [each for each in given if isinstance(each, BaseMessage)]
