"""A memory in place of LangChain's five: buffer, window, token buffer, summary and summary buffer."""

from __future__ import annotations

from typing import Any, Self
from uuid import uuid4

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import Field, PrivateAttr

from lossless import ActiveContext, Engine, Message, Thread
from lossless.errors import ConfigError
from lossless.twins import async_twin
from lossless_langchain.codec import FORMAT, decode_message, decode_stored
from lossless_langchain.connecting import engine_for
from lossless_langchain.history import LosslessChatMessageHistory
from lossless_langchain.memory.fitting import Fitting, Missing, as_text, in_class, is_summary, missing_of
from lossless_langchain.memory.summarizing import checked_prompt, new_summary, summarizer_for
from lossless_langchain.summaries import summarize_with
from lossless_langchain.turns import INPUT_KEYS, OUTPUT_KEYS, as_messages, chosen_key, steps_of

__all__ = ["LosslessMemory"]

_NO_TEXT = ("intermediate_steps", "source_documents", "generated_question")
"""Outputs beside the answer."""


class LosslessMemory(BaseChatMemory):
    """Stores every turn of a session, and gives chains what fits into a limit.

    Drop-in for ``ConversationBufferMemory``, ``ConversationBufferWindowMemory``, ``ConversationTokenBufferMemory``,
    ``ConversationSummaryMemory`` and ``ConversationSummaryBufferMemory``: it takes their arguments and has their attributes. It
    holds no messages itself, so it survives restarts, and any number of objects may share a session. What it doesn't show, or
    shows in a summary, stays in the store and can be found there (``memory.thread``).

    Args:
        engine: an ``Engine``, or the URL of one.
        url: instead of an engine; none of both: ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        session_id: the thread's id.
        max_token_limit: the most tokens that :meth:`load_memory_variables` gives; None: the engine's window, and without one, all
            is shown.
        llm: writes the summaries: a chat model or another language model; None: they are written without a model. An engine's
            own summarizer goes first.
        prompt: for the summaries, with the variables ``summary`` and ``new_lines``.
        summary_message_cls: the class of summaries that are shown as messages; None: as the context has them.
        k: of how many turns, the newest, anything is shown; None: of all.
        chat_memory: a history. One that is not of ours stays the user's, and is mirrored.
        memory_key: the variable that is loaded.
        return_messages: whether it is messages, rather than text.
        input_key: which input the user said; None: it is found out.
        output_key: which output is the answer; None: it is found out.
        human_prefix: what the user's messages begin with in text.
        ai_prefix: what the answers begin with in text.
        moving_summary_buffer: what an empty session begins with, as stock memories take it; ``buffer`` means the same.

    Raises:
        ConfigError: the prompt has other variables, or the engine can't be meant.
        StoreOpenError: the database can't be opened.
    """

    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    memory_key: str = "history"
    session_id: str = "default"
    max_token_limit: int | None = Field(default=None, gt=0)
    llm: Any = None
    prompt: Any = None
    summary_message_cls: type[BaseMessage] | None = None
    k: int | None = None

    _history: LosslessChatMessageHistory = PrivateAttr()
    _summarizer: Any = PrivateAttr(default=None)

    def __init__(self, engine: Engine | str | None = None, url: str | None = None, **data: Any) -> None:
        begun_with = data.pop("moving_summary_buffer", None) or data.pop("buffer", None)
        if engine is not None and url is not None:
            raise ConfigError("several connections are given", hint="give one of engine= and url=")
        given, limit = data.get("chat_memory"), data.get("max_token_limit")
        if isinstance(given, LosslessChatMessageHistory):
            found, session = given.engine, given.session_id
        else:
            found = engine_for(url if engine is None else engine)
            session = data.get("session_id") or (getattr(given, "session_id", None) or uuid4().hex if given else "default")
        history = LosslessChatMessageHistory(session, found, max_token_limit=limit)
        super().__init__(**{**data, "session_id": str(session), "chat_memory": given if given is not None else history})
        checked_prompt(self.prompt)
        self._history = history
        self._summarizer = summarizer_for(self.llm, self.prompt)
        self._claim()
        if isinstance(begun_with, str) and begun_with and not self.thread.count():
            self._add([(self.summary_message_cls or SystemMessage)(content=begun_with)])

    @classmethod
    def from_messages(
        cls, llm: Any, chat_memory: BaseChatMessageHistory, *, summarize_step: int = 2, **kwargs: Any
    ) -> LosslessMemory:
        """Make a memory of a history, summarised as far as it has to be.

        Args:
            llm: see the class.
            chat_memory: see the class.
            summarize_step: not needed: how much is summarised at once follows from the limit.
            kwargs: see the class.
        """
        del summarize_step
        made = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        made._context()
        return made

    @property
    def engine(self) -> Engine:
        """The engine that it is on."""
        return self._history.engine

    @property
    def thread(self) -> Thread:
        """The thread that holds the messages, with the memory's budget."""
        return self._history.thread

    @property
    def memory_variables(self) -> list[str]:
        """The variable that is loaded, alone."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Give what is shown of the session, as messages or as text; it is always within the limit."""
        del inputs
        return {self.memory_key: self._loaded(self.return_messages)}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store a turn: what the user said, the steps of an agent, and the answer; it is durable when this returns.

        Values may be text or messages; anything else is stored as its JSON.

        Raises:
            ConfigError: it can't be told which input or output is meant; it says which there are.
        """
        said, answered = self._get_input_output(inputs, outputs)
        self._claim()
        self._add([*as_messages(said, HumanMessage), *steps_of(outputs), *as_messages(answered, AIMessage)])

    def clear(self) -> None:
        """Show nothing from now on; what was stored stays in the store."""
        self.chat_memory.clear()
        if self.chat_memory is not self._history:
            self._history.clear()

    def prune(self) -> None:
        """Compact what can be compacted."""
        self._mirror()
        if self._is_bounded():
            self._claim()
            self.thread.compact(force=True)

    def predict_new_summary(self, messages: list[BaseMessage], existing_summary: str) -> str:
        """Write a summary of messages that continues an existing one: by the model, or without one if there is none."""
        return new_summary(self.llm, self.prompt, as_text(messages, self.human_prefix, self.ai_prefix), existing_summary)

    @property
    def buffer(self) -> Any:
        """What is shown, as :meth:`load_memory_variables` gives it."""
        return self._loaded(self.return_messages)

    @property
    def buffer_as_str(self) -> str:
        """What is shown, as text."""
        return str(self._loaded(False))

    @property
    def buffer_as_messages(self) -> list[BaseMessage]:
        """What is shown, as messages."""
        found: list[BaseMessage] = self._loaded(True)
        return found

    @property
    def moving_summary_buffer(self) -> str:
        """The summaries that are shown, as text; empty as long as all is shown verbatim."""
        context = self._context()
        return "\n\n".join(item.text for item in context.items if item.kind == "summary") if context is not None else ""

    async def abuffer(self) -> Any:
        """Do the same as ``buffer``."""
        return await self._aloaded(self.return_messages)

    async def abuffer_as_str(self) -> str:
        """Do the same as ``buffer_as_str``."""
        return str(await self._aloaded(False))

    async def abuffer_as_messages(self) -> list[BaseMessage]:
        """Do the same as ``buffer_as_messages``."""
        found: list[BaseMessage] = await self._aloaded(True)
        return found

    aload_memory_variables = async_twin(load_memory_variables)  # type: ignore[arg-type]
    asave_context = async_twin(save_context)  # type: ignore[arg-type]
    aclear = async_twin(clear)  # type: ignore[arg-type]
    aprune = async_twin(prune)
    apredict_new_summary = async_twin(predict_new_summary)

    def __deepcopy__(self, memo: Any = None) -> Self:
        return self.model_copy()

    def _get_input_output(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> tuple[Any, Any]:
        said = inputs[chosen_key(inputs, self.input_key, INPUT_KEYS, "input", [*self.memory_variables, "stop"])]
        return said, outputs[chosen_key(outputs, self.output_key, OUTPUT_KEYS, "output", _NO_TEXT)]

    def _add(self, messages: list[BaseMessage]) -> None:
        if isinstance(self.chat_memory, LosslessChatMessageHistory):
            self._history.add_messages(messages)
        else:
            self.chat_memory.add_messages(messages)
            self._mirror()

    def _mirror(self) -> None:
        """Bring the thread in line with a history that is not of ours, which its user may have changed."""
        if not isinstance(self.chat_memory, LosslessChatMessageHistory):
            self._history.set_messages(self.chat_memory.messages)

    def _claim(self) -> None:
        """Tell the engine that summaries of this thread are written by this memory's model, unless it has its own."""
        if self._summarizer is not None and self.engine.summarizer is None:
            summarize_with(self.engine, self._summarizer)(self.session_id)

    def _is_bounded(self) -> bool:
        return self.max_token_limit is not None or self.engine.budget is not None

    def _context(self) -> ActiveContext | None:
        """Give the active context, compacted if not all of it fits; None if there is no limit."""
        self._mirror()
        if not self._is_bounded():
            return None
        context = self.thread.context(format=FORMAT)
        if context.total and (context.status == "exhausted" or any(item.kind == "omission" for item in context.items)):
            self._claim()
            self.thread.compact(by_hand=False)
            context = self.thread.context(format=FORMAT)
        return context

    def _shown(self) -> tuple[list[BaseMessage], Missing]:
        context = None if self.k is not None else self._context()
        if context is not None:
            return [decode_message(payload) for payload in context.messages], missing_of(context)
        self._mirror()
        stored = self.thread.messages() if self.k is None else _newest(self.thread, self.k)
        return [each for message in stored for each in decode_stored(message)], lambda left_out: left_out

    def _loaded(self, as_messages: bool) -> Any:
        limit = self.max_token_limit or (self.engine.budget.window if self.engine.budget is not None else None)
        shown, missing = self._shown()
        if as_messages and self.summary_message_cls is not None:
            shown = [in_class(message, self.summary_message_cls) if is_summary(message) else message for message in shown]
        fitting = Fitting(self.engine.counter, self.human_prefix, self.ai_prefix)
        if as_messages:
            return fitting.messages(shown, limit, missing)
        return fitting.text(shown, limit, missing)

    _aloaded = async_twin(_loaded)


def _newest(thread: Thread, turns: int) -> list[Message]:
    """Give the newest turns, each with what its user said and with all that was done and answered, reading little more."""
    if turns <= 0:
        return []
    count, length = thread.count(), 4 * turns
    while True:
        # Before a seq there are fewer messages than it says, so that at the least so many are from it on.
        start = max(1, count - length + 1)
        stored = thread.messages(start=start)
        said = [place for place, message in enumerate(stored) if message.role == "user"]
        if len(said) >= turns:
            return stored[said[-turns] :]
        if start == 1:
            return stored
        length *= 4
