"""What LangChain's own histories hold is taken over, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, messages_to_dict
from sqlalchemy import Column, Integer, MetaData, Table, Text, create_engine

from lossless import Engine
from lossless.errors import ConfigError, MessageError, StoreOpenError
from lossless_langchain import LosslessChatMessageHistory, import_message_table, import_messages

GIVEN: list[Any] = [
    HumanMessage("hi", id="1"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"x": 1}, "id": "c", "type": "tool_call"}]),
    ToolMessage("found", tool_call_id="c"),
    AIMessage("there", response_metadata={"model": "m"}),
]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine("sqlite://") as engine:
        yield engine


def test_a_table_of_stock_histories_is_taken_over_by_session(engine: Engine, bare_url: str) -> None:
    held = Table(
        "message_store", MetaData(), Column("id", Integer, primary_key=True), Column("session_id", Text), Column("message", Text)
    )
    source = create_engine(bare_url)
    held.metadata.create_all(source)
    rows = [("a", json.dumps(each)) for each in messages_to_dict(GIVEN)] + [("b", '{"type": "later"}'), ("b", "no json")]
    with source.begin() as connection:
        connection.execute(held.insert(), [{"session_id": session, "message": message} for session, message in rows[::2]])
        connection.execute(held.insert(), [{"session_id": "b", "message": json.dumps(messages_to_dict(GIVEN)[0])}])
    assert import_message_table(bare_url, engine) == {"a": 2, "b": 2}
    assert LosslessChatMessageHistory("a", engine).messages == [GIVEN[0], GIVEN[2]]
    assert import_message_table(source, engine) == {"a": 0, "b": 0}
    with source.begin() as connection:
        connection.execute(held.insert(), [{"session_id": "a", "message": json.dumps(messages_to_dict(GIVEN)[3])}])
        connection.execute(held.insert(), [{"session_id": "c", "message": "no json"}])
    assert import_message_table(source, engine) == {"a": 1, "b": 0, "c": 1}
    assert "no json" in LosslessChatMessageHistory("c", engine).messages[0].text
    source.dispose()


def test_messages_as_dicts_and_files_are_taken_over(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(messages_to_dict(GIVEN)))
    assert import_messages(path, engine, "file") == 4
    assert import_messages(str(path), engine, "file") == 0
    assert import_messages(messages_to_dict(GIVEN), engine, "dicts") == 4
    assert import_messages(GIVEN, engine, "messages") == 4
    assert import_messages(LosslessChatMessageHistory("file", engine), engine, "history") == 4
    for session in ("file", "dicts", "messages", "history"):
        assert LosslessChatMessageHistory(session, engine).messages == GIVEN


def test_what_cant_be_imported_is_named(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    for text, words in (("{", "no JSON"), ("{}", "no list of messages")):
        path.write_text(text)
        with pytest.raises(MessageError, match=words):
            import_messages(path, engine, "s")
    with pytest.raises(ConfigError, match="no session id"):
        import_messages(GIVEN, engine, "")
    with pytest.raises(ConfigError, match="no table 'message_store'"):
        import_message_table(f"sqlite:///{tmp_path / 'none.db'}", engine)
    with pytest.raises(StoreOpenError, match="can't be read"):
        import_message_table("nothing", engine)
