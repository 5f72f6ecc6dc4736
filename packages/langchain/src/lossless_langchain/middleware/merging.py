"""A rendered context as the messages of a request, with what other middleware put into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from operator import is_
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage

from lossless import ActiveContext
from lossless_langchain.codec import decode_message

__all__ = ["added", "holds_all", "merged", "same", "shows"]


_SAID = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls", "tool_call_id")
"""What of a message a repair may change; the rest stays as it was given."""


def added(request: Sequence[BaseMessage], state: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Give the messages of a request that are not the state's: other middleware put them in for this call."""
    if same(request, state):
        return []
    ids = {message.id for message in state}
    return [message for message in request if message.id is None or message.id not in ids]


def same(some: Sequence[BaseMessage], others: Sequence[BaseMessage]) -> bool:
    """Tell whether two lists hold the very same messages."""
    return len(some) == len(others) and all(map(is_, some, others))


def holds_all(request: Sequence[BaseMessage], state: Sequence[BaseMessage]) -> bool:
    """Tell whether the very messages of a state are all in a request: other middleware at most put some in."""
    return same(request, state) or set(map(id, state)) <= set(map(id, request))


def shows(context: ActiveContext, message: BaseMessage) -> bool:
    """Tell whether a context in the format ``langchain/1`` shows a message of a state, as itself or repaired."""
    return any(_id_of(payload) == message.id for payload in context.messages)


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
    wanted = {id for payload in context.messages if (id := _id_of(payload)) is not None and not id.startswith("sum_")}
    in_state = _places(state, wanted)
    untouched = same(request, state)
    given = in_state if untouched else _places(request, wanted)
    shown: list[tuple[str | None, AnyMessage]] = []
    for payload in context.messages:
        id = _id_of(payload)
        if id not in in_state:
            shown.append((id if "origin" not in payload else None, _decoded(payload)))
        elif id in given:
            message = _as_shown(request[given[id]], payload)
            # What was made up for a message stands for it, too: the missing result of a call.
            shown.append((id if message.id == id else None, message))
    ordered = _in_order(shown, in_state)
    return [message for _id, message in ordered] if untouched else _with_added(ordered, request, {each.id for each in state})


def _places(messages: Sequence[BaseMessage], wanted: Set[str]) -> dict[str, int]:
    """Find messages by id, from the newest on: mostly the newest are wanted, of however many."""
    found: dict[str, int] = {}
    for place in range(len(messages) - 1, -1, -1):
        if len(found) == len(wanted):
            break
        id = messages[place].id
        if id is not None and id in wanted:
            found.setdefault(id, place)
    return found


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
