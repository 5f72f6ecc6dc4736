"""A rendered context as the messages of a request, with what other middleware put into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage

from lossless import ActiveContext
from lossless_langchain.codec import decode_message

__all__ = ["added", "merged"]


_SAID = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls", "tool_call_id")
"""What of a message a repair may change; the rest stays as it was given."""


def added(request: Sequence[BaseMessage], state: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Give the messages of a request that are not the state's: other middleware put them in for this call."""
    ids = {message.id for message in state}
    return [message for message in request if message.id is None or message.id not in ids]


def merged(context: ActiveContext, request: Sequence[AnyMessage], state: Sequence[BaseMessage]) -> list[AnyMessage]:
    """Write a context as messages.

    What is shown as itself is the very object of the request: with the edits of other middleware, and left out where they left
    it out. What they added stands where it stood, before the next message that is shown; a result that they, or the agent itself,
    made up for a call stands in place of the one that the context made up, and is left out where the call is not shown.

    Args:
        context: rendered in the format ``langchain/1``.
        request: the messages of the request.
        state: the messages of the state.
    """
    given = {message.id: message for message in request if message.id is not None}
    in_state = {message.id for message in state}
    shown: list[tuple[str | None, AnyMessage]] = []
    for payload in context.messages:
        id = _id_of(payload)
        if id not in in_state:
            shown.append((id if "origin" not in payload else None, _decoded(payload)))
        elif id in given:
            message = _as_shown(given[id], payload)
            # What was made up for a message stands for it, too: the missing result of a call.
            shown.append((id if message.id == id else None, message))
    order = {message.id: place for place, message in enumerate(state) if message.id is not None}
    return _with_added(_in_order(shown, order), request, in_state)


def _in_order(shown: list[tuple[str | None, AnyMessage]], order: Mapping[str, int]) -> list[tuple[str | None, AnyMessage]]:
    """Put messages in the order of the state, where somebody changed it there; results stay with their calls."""
    groups: list[list[tuple[str | None, AnyMessage]]] = []
    places: list[int] = []
    held: list[tuple[str | None, AnyMessage]] = []  # what has no place of its own stands before the next that has one
    for id, message in shown:
        if isinstance(message, ToolMessage) and groups and not held:
            groups[-1].append((id, message))
            continue
        held.append((id, message))
        if id is not None and id in order:
            groups.append(held)
            places.append(order[id])
            held = []
    if places == sorted(places):
        return shown
    ordered = [groups[n] for n in sorted(range(len(groups)), key=places.__getitem__)]
    return [each for group in [*ordered, held] for each in group]


def _with_added(
    shown: list[tuple[str | None, AnyMessage]], request: Sequence[AnyMessage], in_state: set[str | None]
) -> list[AnyMessage]:
    places = {id: place for place, (id, _message) in enumerate(shown) if id is not None}
    before: dict[int, list[AnyMessage]] = {}
    waiting: list[AnyMessage] = []
    results: dict[str, AnyMessage] = {}
    for message in request:
        if message.id is None or message.id not in in_state:
            if isinstance(message, ToolMessage):
                results[message.tool_call_id] = message
            else:
                waiting.append(message)
        elif waiting and message.id in places:
            before.setdefault(places[message.id], []).extend(waiting)
            waiting = []
    result: list[AnyMessage] = []
    for place, (id, message) in enumerate(shown):
        if id is None and isinstance(message, ToolMessage):
            message = results.get(message.tool_call_id, message)
        result += [*before.get(place, ()), message]
    return result + waiting


def _id_of(payload: dict[str, Any]) -> str | None:
    """Give the id of the message that a payload is, or that it stands for."""
    id = payload["data"].get("id") or payload.get("origin")
    return id if isinstance(id, str) else None


def _as_shown(message: AnyMessage, payload: dict[str, Any]) -> AnyMessage:
    """Give a message of the request as the context shows it: itself where nothing in it had to be changed."""
    if "origin" not in payload:
        call_id = payload["data"].get("tool_call_id")
        if isinstance(message, ToolMessage) and message.tool_call_id != call_id:
            return message.model_copy(update={"tool_call_id": call_id})
        return message
    decoded = _decoded(payload)
    if decoded.type != message.type:
        return decoded
    return message.model_copy(update={name: getattr(decoded, name) for name in _SAID if hasattr(decoded, name)})


def _decoded(payload: dict[str, Any]) -> AnyMessage:
    return decode_message(payload)  # type: ignore[return-value]
