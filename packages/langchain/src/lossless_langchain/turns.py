"""What a run of a chain was given and what it answered, as messages to store."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langchain_core.prompt_values import PromptValue

from lossless.errors import ConfigError

__all__ = ["INPUT_KEYS", "MARK", "OUTPUT_KEYS", "as_messages", "chosen_key", "failed_turn", "steps_of", "whole"]

INPUT_KEYS = ("input", "question", "query", "human_input")
"""Where chains are commonly given what the user said, most common first."""
OUTPUT_KEYS = ("answer", "output", "text", "result", "response")
"""Where chains commonly give their answer, most common first."""
MARK = "lossless_turn"
"""In the ``additional_kwargs`` of the message that ends a turn without an answer: ``failed`` or ``aborted``."""


def chosen_key(
    values: Mapping[str, Any], named: str | None, common: Sequence[str], what: str, ignored: Sequence[str] = ()
) -> str:
    """Choose the key of what a chain was given or answered: the named one, the only one, else a common one.

    Args:
        values: by key.
        named: what the user named.
        common: keys to prefer.
        what: ``input`` or ``output``.
        ignored: keys that are not meant.

    Raises:
        ConfigError: the named one is not there, or none can be chosen; it says which there are.
    """
    keys = [key for key in values if key not in ignored]
    there = f"there are {', '.join(sorted(map(repr, keys)))}" if keys else "there are none"
    if named is not None:
        if named in values:
            return named
        raise ConfigError(f"there is no {what} key {named!r}: {there}", hint=f"name one of them as {what}_key=")
    if len(keys) == 1:
        return keys[0]
    found = next((key for key in common if key in keys), None)
    if found is None:
        raise ConfigError(f"one {what} key is needed: {there}", hint=f"name the one that holds the text as {what}_key=")
    return found


def as_messages(value: Any, kind: type[BaseMessage]) -> list[BaseMessage]:
    """Read a value as messages: messages as they are, text as one message of that class, anything else as its JSON."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, PromptValue):
        return value.to_messages()
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and isinstance(value[0], list):  # chat models are given batches
            return as_messages(value[0], kind)
        if any(isinstance(each, BaseMessage) for each in value):
            return [message for each in value for message in _converted(each, kind)]
        if value and (all(map(_is_pair, value)) or all(map(_is_message_dict, value))):
            with contextlib.suppress(KeyError, TypeError, ValueError):  # of a role that there is not: as any other values
                return convert_to_messages(value)
        if not value:
            return []
    return [kind(content=value if isinstance(value, str) else _text(value))]


def steps_of(outputs: Any) -> list[BaseMessage]:
    """Give the intermediate steps that an agent's output lists, as calls and their results; a step that has an id keeps it."""
    steps = outputs.get("intermediate_steps") if isinstance(outputs, Mapping) else None
    found: list[BaseMessage] = []
    for step in steps if isinstance(steps, (list, tuple)) else ():
        if isinstance(step, (list, tuple)) and len(step) == 2:
            found += _step(*step)
    return found


def failed_turn(inputs: Sequence[BaseMessage], said: Sequence[BaseMessage], error: BaseException) -> list[BaseMessage]:
    """Give what is kept of a turn that ended early: what the user said, what was answered so far, and a mark.

    Args:
        inputs: what was given.
        said: what was answered before it ended.
        error: what ended it; its text may hold secrets, so that only its kind is kept.
    """
    aborted = isinstance(error, (GeneratorExit, KeyboardInterrupt)) or type(error).__name__ == "CancelledError"
    state = "aborted" if aborted else "failed"
    why = "the turn was aborted" if aborted else f"the turn failed with {type(error).__name__}"
    marks = {MARK: state} if aborted else {MARK: state, "error": type(error).__name__}
    return [*inputs, *said, AIMessage(f"[{why} before its answer was complete]", additional_kwargs=marks)]


def whole(value: Any) -> Any:
    """Make messages of the chunks that a stream was put together from."""
    if isinstance(value, BaseMessageChunk):
        return message_chunk_to_message(value)
    if isinstance(value, dict):
        return {key: whole(inner) for key, inner in value.items()}
    return [whole(each) for each in value] if isinstance(value, list) else value


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _is_message_dict(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "content" in value


def _converted(value: Any, kind: type[BaseMessage]) -> list[BaseMessage]:
    return convert_to_messages([value]) if isinstance(value, (tuple, dict)) else as_messages(value, kind)


def _step(action: Any, result: Any) -> list[BaseMessage]:
    logged = [message for message in getattr(action, "message_log", None) or () if isinstance(message, BaseMessage)]
    name, given = str(getattr(action, "tool", "") or "tool"), getattr(action, "tool_input", {})
    id = getattr(action, "tool_call_id", None) or f"call_{uuid4().hex}"
    arguments = given if isinstance(given, dict) else {"input": given}
    made = AIMessage(
        str(getattr(action, "log", "") or ""), tool_calls=[{"name": name, "args": arguments, "id": id, "type": "tool_call"}]
    )
    calls = [message for message in logged if isinstance(message, AIMessage) and _calls(message, id)]
    text = result if isinstance(result, str) else _text(result)
    artifact = None if isinstance(result, str) else result
    answered = result if isinstance(result, ToolMessage) else ToolMessage(text, tool_call_id=id, name=name, artifact=artifact)
    return [*(calls or [made]), answered]


def _calls(message: AIMessage, id: str) -> bool:
    return any(call["id"] == id for call in message.tool_calls)


def _text(value: Any) -> str:
    if isinstance(value, HumanMessage):
        return str(value.text)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)
