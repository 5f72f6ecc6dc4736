"""A memory for chat engines and agents: the thread's active context, within a token limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.types import BaseMemory
from pydantic import Field, PrivateAttr

from lossless import ActiveContext, Budget, Engine, Thread
from lossless.errors import ConfigError
from lossless.twins import async_twin
from lossless_llamaindex.arguments import tokens_of, whole
from lossless_llamaindex.codec import FORMAT, decode_message
from lossless_llamaindex.connected import Connected
from lossless_llamaindex.stores.chat_store import LosslessChatStore
from lossless_llamaindex.stores.threads import as_messages, payloads_of, store

__all__ = ["LosslessMemory"]

_WHOLE = Budget(window=1_000_000_000, reserve=0)
"""The budget of a memory that shows all of its view."""
_FRAME = 8
"""Tokens of the message, besides its text, that somebody counted who counts texts only."""
_SHARE = 0.75
"""Of an LLM's window, what stock memories take unless they are told."""


class LosslessMemory(Connected, BaseMemory):
    """Shows the active context of a thread, and stores every message in it as it is put.

    ``get`` gives what fits into ``token_limit``: the newest messages verbatim, older ones under summaries, units of a call
    and its results whole. What is set or reset changes what is shown; everything stays in the store. It holds no messages
    itself, so it survives restarts, and any number of objects may share a session.

    Args:
        engine: where messages are; or its URL.
        url: instead of an engine; none of both: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        session_id: the thread's id; None: a new one.
        token_limit: the most tokens that a prompt may have; None: the engine's window, and without one, all is shown.
        profile: whose rules what is shown must meet: ``openai``, ``anthropic`` or ``gemini``; None: ``openai``.
    """

    session_id: str = Field(default_factory=lambda: str(uuid4()))
    token_limit: int | None = Field(default=None, gt=0)
    profile: str | None = None

    _overhead: int = PrivateAttr(default=0)

    def __init__(
        self,
        engine: Engine | str | None = None,
        url: str | None = None,
        session_id: str | None = None,
        token_limit: int | None = None,
        profile: str | None = None,
        **address: Any,
    ) -> None:
        named = {"session_id": session_id} if session_id is not None else {}
        super().__init__(engine=engine, url=url, token_limit=token_limit, profile=profile, **named, **address)

    @classmethod
    def class_name(cls) -> str:
        """Give the name of the class."""
        return "LosslessMemory"

    @classmethod
    def from_defaults(
        cls,
        engine: Engine | str | None = None,
        url: str | None = None,
        session_id: str | None = None,
        token_limit: int | None = None,
        chat_history: list[ChatMessage] | None = None,
        llm: Any = None,
        chat_store: LosslessChatStore | None = None,
        chat_store_key: str | None = None,
        **others: Any,
    ) -> LosslessMemory:
        """Make a memory with the arguments of stock ones.

        Args:
            engine: see the class.
            url: see the class.
            session_id: see the class.
            token_limit: see the class; None: three quarters of the LLM's window, if one is given.
            chat_history: what the session shows from now on.
            llm: whose window is known.
            chat_store: whose engine is used.
            chat_store_key: the session, as stock memories call it.
            others: ``profile``; what else stock memories take, such as ``tokenizer_fn``, is not needed and left alone.

        Raises:
            ConfigError: the chat store is none of ours, or the LLM is none.
        """
        if engine is None and url is None and chat_store is not None:
            engine = _engine_of(chat_store)
        if token_limit is None and llm is not None:
            token_limit = int(_window_of(llm) * _SHARE)
        made = cls(engine, url, session_id or chat_store_key, token_limit, others.get("profile"))
        if chat_history is not None:
            made.set(chat_history)
        return made

    @property
    def tokenizer_fn(self) -> Callable[[str], Sequence[int]]:
        """What chat engines count with what they send beside the history: of a text, it gives one element for each token."""
        count = self.engine.counter.count
        return lambda text: range(count(text))

    def get(self, input: str | None = None, initial_token_count: int | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Give the active context.

        Args:
            input: not needed; stock memories look things up with it.
            initial_token_count: tokens of what else the prompt has. If little is left, less is shown. None: what the last step
                of an agent sent beside it, and without an agent, nothing.
            kwargs: what other memories take.

        Raises:
            ConfigError: it is no number.
        """
        del input, kwargs
        beside = self._overhead
        if initial_token_count is not None:
            counted = tokens_of(initial_token_count, "initial_token_count")
            beside = counted + _FRAME if counted else 0
        return _decoded(self.context(overhead=beside))

    def get_all(self) -> list[ChatMessage]:
        """Give every message of the session that was not deleted, verbatim."""
        return as_messages(self.thread().messages())

    def put(self, message: ChatMessage) -> None:
        """Store a message; it is durable when this returns.

        Raises:
            MessageError: it can't be stored.
        """
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Store messages in one transaction.

        Raises:
            MessageError: one of them can't be stored; then none of them is.
        """
        store(self.thread(overhead=self._overhead), payloads_of(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """Make the session show exactly these messages; what else was put stays in the store."""
        self.thread().replace(payloads_of(messages), format=FORMAT)

    def reset(self) -> None:
        """Begin again with an empty session; what was put stays in the store."""
        self.thread().replace([], format=FORMAT)

    def thread(self, *, overhead: int = 0, token_limit: int | None = None) -> Thread:
        """Give the session's thread, with the memory's budget.

        Args:
            overhead: tokens that are sent beside what is shown: compaction keeps them free, too.
            token_limit: instead of the memory's own.
        """
        budget = self.budget(token_limit)
        return self.engine.thread(self.session_id, budget=budget.adjusted(overhead=overhead) if overhead else budget)

    def budget(self, token_limit: int | None = None) -> Budget:
        """Give what a prompt may cost: within ``token_limit``, else the memory's own."""
        limit = self.token_limit if token_limit is None else whole(token_limit, "token_limit")
        return Budget(window=limit, reserve=0) if limit is not None else self.engine.budget or _WHOLE

    def context(
        self,
        *,
        overhead: int = 0,
        tools: Sequence[Mapping[str, Any]] | None = None,
        profile: str | None = None,
        token_limit: int | None = None,
    ) -> ActiveContext:
        """Give the active context with what is known of it: tokens, status, what is not shown.

        Args:
            overhead: tokens of what else the prompt has.
            tools: schemas that are sent beside it, as OpenAI has them.
            profile: instead of the memory's own.
            token_limit: instead of the memory's own.
        """
        thread, beside = self.thread(token_limit=token_limit), tokens_of(overhead, "the overhead")
        return thread.context(format=FORMAT, overhead=beside, tools=tools, profile=profile or self.profile)

    def prompt(
        self,
        *,
        overhead: int = 0,
        tools: Sequence[Mapping[str, Any]] | None = None,
        profile: str | None = None,
        token_limit: int | None = None,
    ) -> list[ChatMessage]:
        """Give the active context for a model call of an agent: see :meth:`fitting`."""
        return _decoded(self.fitting(overhead=overhead, tools=tools, profile=profile, token_limit=token_limit))

    def fitting(
        self,
        *,
        overhead: int = 0,
        tools: Sequence[Mapping[str, Any]] | None = None,
        profile: str | None = None,
        token_limit: int | None = None,
    ) -> ActiveContext:
        """Give the active context for a model call of an agent: where not all of it fits, the thread is compacted first.

        What is put from then on is compacted with the same overhead in mind.

        Args:
            overhead, tools, profile, token_limit: as for :meth:`context`.
        """
        context = self.context(overhead=overhead, tools=tools, profile=profile, token_limit=token_limit)
        self._overhead = context.overhead
        if context.status == "exhausted" and context.total:
            self.thread(overhead=context.overhead, token_limit=token_limit).compact(by_hand=False)
            context = self.context(overhead=overhead, tools=tools, profile=profile, token_limit=token_limit)
        return context

    aget = async_twin(get)  # type: ignore[arg-type]
    aget_all = async_twin(get_all)  # type: ignore[arg-type]
    aput = async_twin(put)  # type: ignore[arg-type]
    aput_messages = async_twin(put_messages)  # type: ignore[arg-type]
    aset = async_twin(set)  # type: ignore[arg-type]
    areset = async_twin(reset)  # type: ignore[arg-type]
    acontext = async_twin(context)
    aprompt = async_twin(prompt)
    afitting = async_twin(fitting)


def _engine_of(chat_store: Any) -> Engine:
    if not isinstance(chat_store, Connected):
        said = f"a {type(chat_store).__name__} has no engine"
        raise ConfigError(said, hint="give a LosslessChatStore; import_chat_store takes over what another one holds")
    return chat_store.engine


def _window_of(llm: Any) -> int:
    window = getattr(getattr(llm, "metadata", None), "context_window", None)
    if not isinstance(window, int):
        raise ConfigError(f"a {type(llm).__name__} is no LLM", hint="give one of LlamaIndex, or token_limit=")
    return window


def _decoded(context: ActiveContext) -> list[ChatMessage]:
    return [decode_message(payload, restore=True) for payload in context.messages]
