"""Messages that were read from a store: their parts are read when somebody asks for them, and nobody can tell."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine, Message
from lossless.messages import Call, Opaque, Result, Text
from lossless.store.namespaces import Secrets
from lossless.store.read import MessageReader

GIVEN: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is the order?", "id": "asked", "extra": {"b": 1.0, "a": 2**200}},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"order": 7}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "in \ud800 the post"},
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(f"sqlite:///{tmp_path / 'stored.db'}", window=32_000, load_plugins=False) as opened:
        opened.thread("t").append(GIVEN)
        yield opened


def test_parts_are_read_when_they_are_asked_for(engine: Engine) -> None:
    asked, call, result = engine.thread("t").messages()
    assert not any("parts" in message.__dict__ for message in (asked, call, result))
    assert asked.parts == (Text("Where is the order?"),)
    assert call.parts == (Call("c1", "find", '{"order": 7}'),)
    assert result.parts == (Result("c1", (Text("in \ud800 the post"),)),)
    assert result.text == "in \ud800 the post"
    assert asked.parts is asked.parts


def test_a_message_that_was_read_equals_one_that_was_made(engine: Engine) -> None:
    for message in engine.thread("t").messages():
        fields = {name: getattr(message, name) for name in Message.__dataclass_fields__}
        made = Message(**fields)
        assert message == made
        assert hash(message.id) == hash(made.id)
        assert repr(message) == repr(made)
        assert replace(message, deleted=True) == replace(made, deleted=True)


def test_stored_messages_can_be_pickled_and_copied(engine: Engine) -> None:
    for message in engine.thread("t").messages():
        assert pickle.loads(pickle.dumps(message)) == message
        assert copy.copy(message) == message
        assert copy.deepcopy(message) == message


def test_a_message_has_no_other_fields_than_its_own(engine: Engine) -> None:
    message = engine.thread("t").messages()[0]
    with pytest.raises(AttributeError, match="nonsense"):
        message.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="parts"):
        Message.__new__(Message).parts  # noqa: B018


def test_changing_a_payload_changes_neither_the_message_nor_its_context(engine: Engine) -> None:
    thread = engine.thread("t")
    shown = thread.context().messages
    for message in thread.messages():
        message.payload["content"] = "changed"
        message.payload.get("extra", {}).clear()
    shown[0]["content"] = "changed"
    assert [message.payload for message in thread.messages()] == GIVEN
    assert thread.context().messages[0]["content"] == "Where is the order?"


def test_a_message_of_an_unknown_format_is_one_opaque_part(engine: Engine) -> None:
    with engine.database.read() as connection:
        [message] = MessageReader(dict, Secrets(engine.database)).by_seq(connection, engine.key_of("t"), [1])
    assert message.parts == (Opaque(GIVEN[0]),)
