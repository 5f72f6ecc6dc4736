"""A chain with a message history: each turn is stored as one, whether it ends well, fails or is aborted."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import (
    ConfigurableFieldSpec,
    Runnable,
    RunnableConfig,
    RunnableWithMessageHistory,
    ensure_config,
)
from langchain_core.runnables.base import RunnableBindingBase, coerce_to_runnable

from lossless_langchain.turns import INPUT_KEYS, OUTPUT_KEYS, as_messages, chosen_key, failed_turn, steps_of, whole

__all__ = ["LosslessRunnableWithMessageHistory"]

_log = logging.getLogger("lossless")


class LosslessRunnableWithMessageHistory(RunnableWithMessageHistory):
    """Runs a chain with the history of the session that the config names, and stores each turn once it has ended.

    Takes the same arguments as LangChain's ``RunnableWithMessageHistory``. Besides, a turn that fails, or whose stream is
    aborted, is kept: what the user said, what was answered so far, and a message that says so (``additional_kwargs`` has
    ``lossless_turn``). Messages of every class are kept, and the steps that an agent's output lists.

    Args:
        runnable: the chain; it takes messages or a dict.
        get_session_history: gives the history of a session; best ``history_factory(engine)``.
        input_messages_key: where a dict holds what the user says.
        output_messages_key: where an output dict holds the answer.
        history_messages_key: where the chain expects the history; None: before what the user says.
        history_factory_config: the keys of the config that ``get_session_history`` takes; None: ``session_id``.
        kwargs: as for LangChain's own.
    """

    def __init__(
        self,
        runnable: Any,
        get_session_history: Any,
        *,
        input_messages_key: str | None = None,
        output_messages_key: str | None = None,
        history_messages_key: str | None = None,
        history_factory_config: Sequence[ConfigurableFieldSpec] | None = None,
        **kwargs: Any,
    ) -> None:
        turns = _Turns(coerce_to_runnable(runnable), input_messages_key, output_messages_key, history_messages_key)
        specs = list(history_factory_config or ()) or [
            ConfigurableFieldSpec(
                id="session_id",
                annotation=str,
                name="Session ID",
                description="Unique identifier for a session.",
                default="",
                is_shared=True,
            )
        ]
        # The stock class's own __init__ is passed over: it warns of its deprecation, and builds the chain that loses turns.
        RunnableBindingBase.__init__(
            self,
            bound=turns,
            get_session_history=get_session_history,
            input_messages_key=input_messages_key,
            output_messages_key=output_messages_key,
            history_messages_key=history_messages_key,
            history_factory_config=specs,
            **kwargs,
        )
        self._history_chain = turns


class _Turns(Runnable[Any, Any]):
    """Runs one turn after the other, each with the history in its config."""

    def __init__(
        self, runnable: Runnable[Any, Any], input_key: str | None, output_key: str | None, history_key: str | None
    ) -> None:
        self.name = "RunnableWithMessageHistory"
        self._runnable = runnable
        self._input_key = input_key
        self._output_key = output_key
        self._history_key = history_key

    @property
    def OutputType(self) -> Any:
        return self._runnable.OutputType

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        return self._runnable.config_specs

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        history = _history_of(config)

        def run(given: Any, run_manager: Any, config: RunnableConfig) -> Any:  # noqa: ARG001
            inputs = self._inputs(given)
            try:
                output = self._runnable.invoke(self._with(given, inputs, history.messages), config, **kwargs)
                turn = self._turn(inputs, output)
            except BaseException as error:
                _keep(history, failed_turn(inputs, (), error))
                raise
            history.add_messages(turn)
            return output

        return self._call_with_config(run, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        history = _history_of(config)

        async def run(given: Any, run_manager: Any, config: RunnableConfig) -> Any:  # noqa: ARG001
            inputs = self._inputs(given)
            try:
                shown = await history.aget_messages()
                output = await self._runnable.ainvoke(self._with(given, inputs, shown), config, **kwargs)
                turn = self._turn(inputs, output)
            except BaseException as error:
                await _akeep(history, failed_turn(inputs, (), error))
                raise
            await history.aadd_messages(turn)
            return output

        return await self._acall_with_config(run, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        yield from self.transform(iter([input]), config, **kwargs)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        async def once() -> AsyncIterator[Any]:
            yield input

        async for chunk in self.atransform(once(), config, **kwargs):
            yield chunk

    def transform(self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        history = _history_of(config)

        def run(given: Iterator[Any], run_manager: Any, config: RunnableConfig) -> Iterator[Any]:  # noqa: ARG001
            value = None
            for number, part in enumerate(given):
                value = part if number == 0 else _joined(value, part)
            inputs, parts = self._inputs(value), _Parts()
            try:
                for chunk in self._runnable.stream(self._with(value, inputs, history.messages), config, **kwargs):
                    parts.add(chunk)
                    yield chunk
                turn = self._turn(inputs, parts.whole())
            except BaseException as error:
                _keep(history, failed_turn(inputs, self._so_far(parts), error))
                raise
            history.add_messages(turn)

        yield from self._transform_stream_with_config(input, run, config)

    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        history = _history_of(config)

        async def run(given: AsyncIterator[Any], run_manager: Any, config: RunnableConfig) -> AsyncIterator[Any]:  # noqa: ARG001
            value, number = None, 0
            async for part in given:
                value = part if number == 0 else _joined(value, part)
                number += 1
            inputs, parts = self._inputs(value), _Parts()
            try:
                shown = await history.aget_messages()
                async for chunk in self._runnable.astream(self._with(value, inputs, shown), config, **kwargs):
                    parts.add(chunk)
                    yield chunk
                turn = self._turn(inputs, parts.whole())
            except BaseException as error:
                await _akeep(history, failed_turn(inputs, self._so_far(parts), error))
                raise
            await history.aadd_messages(turn)

        stream = self._atransform_stream_with_config(input, run, config)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    def _inputs(self, given: Any) -> list[BaseMessage]:
        value = given
        if isinstance(given, dict):
            value = given[chosen_key(given, self._input_key, INPUT_KEYS, "input")]
        return as_messages(value, HumanMessage)

    def _with(self, given: Any, inputs: list[BaseMessage], history: Sequence[BaseMessage]) -> Any:
        if self._history_key:
            return {**given, self._history_key: list(history)}
        shown = [*history, *inputs]
        return {**given, self._input_key: shown} if self._input_key and isinstance(given, dict) else shown

    def _turn(self, inputs: list[BaseMessage], output: Any) -> list[BaseMessage]:
        value = output
        if isinstance(output, dict):
            value = output[chosen_key(output, self._output_key, OUTPUT_KEYS, "output", ("intermediate_steps",))]
        return [*inputs, *steps_of(output), *as_messages(value, AIMessage)]

    def _so_far(self, parts: _Parts) -> list[BaseMessage]:
        if parts.empty:
            return []
        try:
            return [
                message for message in self._turn([], parts.whole()) if message.content or getattr(message, "tool_calls", None)
            ]
        except Exception:  # an answer that can't be read: the mark alone is kept
            return []


class _Parts:
    """The chunks of a stream, put together."""

    def __init__(self) -> None:
        self.empty = True
        self._sum: Any = None

    def add(self, chunk: Any) -> None:
        self._sum = chunk if self.empty else _joined(self._sum, chunk)
        self.empty = False

    def whole(self) -> Any:
        return "" if self.empty else whole(self._sum)


def _joined(left: Any, right: Any) -> Any:
    """Add a chunk to what came before; of what can't be added, the newest counts, as everywhere in LangChain."""
    try:
        return left + right
    except TypeError:
        return right


def _history_of(config: RunnableConfig | None) -> BaseChatMessageHistory:
    found: BaseChatMessageHistory = ensure_config(config)["configurable"]["message_history"]
    return found


def _keep(history: BaseChatMessageHistory, turn: list[BaseMessage]) -> None:
    try:
        history.add_messages(turn)
    except Exception as error:  # what ended the turn is what its caller must see
        _log.warning("turn_not_kept error=%s", type(error).__name__)


async def _akeep(history: BaseChatMessageHistory, turn: list[BaseMessage]) -> None:
    try:
        await history.aadd_messages(turn)
    except Exception as error:
        _log.warning("turn_not_kept error=%s", type(error).__name__)
