"""Taking over what LangChain's own histories hold. Importing again adds only what is new."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, ChatMessage
from sqlalchemy import Column, MetaData, Table, create_engine, inspect, select
from sqlalchemy import Engine as Source
from sqlalchemy.exc import SQLAlchemyError

from lossless import Engine
from lossless.errors import ConfigError, MessageError
from lossless.messages.payload import json_text
from lossless_langchain.codec import FORMAT, decode_message, encode_message
from lossless_langchain.connecting import plain_url, session_name

__all__ = ["import_message_table", "import_messages"]


def import_messages(source: str | PathLike[str] | Iterable[Any] | BaseChatMessageHistory, engine: Engine, session_id: Any) -> int:
    """Take over a conversation into the thread of a session.

    Args:
        source: a history; messages, or what ``messages_to_dict`` made of them; or the path of a file with that as JSON, such as
            ``FileChatMessageHistory`` writes.
        engine: where to.
        session_id: the thread's id.

    Returns:
        How many messages were added. One of a type that is not known reads as a placeholder, and what is no message
        as its text.

    Raises:
        ConfigError: there is no session id.
        MessageError: the file has no list of messages.
    """
    if isinstance(source, BaseChatMessageHistory):
        found: Iterable[Any] = source.messages
    else:
        found = _read(source) if isinstance(source, (str, PathLike)) else source
    return _import(engine, session_name(session_id), found)


def import_message_table(
    source: str | Source,
    engine: Engine,
    *,
    table_name: str = "message_store",
    session_id_field_name: str = "session_id",
    schema: str | None = None,
) -> dict[str, int]:
    """Take over the table of ``SQLChatMessageHistory``: each session becomes the thread of that id.

    Args:
        source: the URL of its database, as the history was given it, or an engine of SQLAlchemy.
        engine: where to.
        table_name: its name.
        session_id_field_name: its column with the session.
        schema: of a PostgreSQL database.

    Returns:
        How many messages were added, by session. One of a type that is not known reads as a placeholder, and a row that is no
        message as its text.

    Raises:
        ConfigError: the database has no such table.
        StoreOpenError: the URL can't be read.
    """
    database = source if isinstance(source, Source) else create_engine(plain_url(source))
    try:
        rows = _rows(database, table_name, session_id_field_name, schema)
        return {
            session: _import(engine, session, (_parsed(message) for _session, message in each))
            for session, each in groupby(rows, lambda row: session_name(row[0]))
        }
    except SQLAlchemyError as error:
        raise ConfigError(f"the table {table_name!r} can't be read: {type(error).__name__}", hint="is the URL right?") from None
    finally:
        if database is not source:
            database.dispose()


def _import(engine: Engine, session: str, messages: Iterable[Any]) -> int:
    made = [_message(each) for each in messages]
    return len(engine.thread(session).sync([encode_message(message) for message in made], format=FORMAT)) if made else 0


def _message(given: Any) -> BaseMessage:
    if isinstance(given, BaseMessage):
        return given
    if isinstance(given, Mapping) and isinstance(given.get("type"), str) and isinstance(given.get("data"), Mapping):
        return decode_message(dict(given))
    return ChatMessage(content=given if isinstance(given, str) else json_text(given), role="unknown")


def _read(path: str | PathLike[str]) -> Sequence[Any]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise MessageError(f"{path} is no JSON", hint="give a file that holds what messages_to_dict gives") from error
    if not isinstance(found, list):
        raise MessageError(f"{path} holds no list of messages", hint="give a file that holds what messages_to_dict gives")
    return found


def _rows(database: Source, table: str, session: str, schema: str | None) -> Iterator[tuple[Any, Any]]:
    """Read sessions and messages, each session's together and in order."""
    inspector = inspect(database)
    if not inspector.has_table(table, schema=schema):
        raise ConfigError(f"there is no table {table!r}", hint="name the table of the history as table_name=")
    names = {column["name"] for column in inspector.get_columns(table, schema=schema)}
    if not {"id", session, "message"} <= names:
        raise ConfigError(f"the table {table!r} is no history's", hint=f"it needs the columns id, {session} and message")
    held = Table(table, MetaData(), *(Column(name) for name in ("id", session, "message")), schema=schema)
    statement = select(held.c[session], held.c.message).order_by(held.c[session], held.c.id)
    with database.connect().execution_options(yield_per=1_000) as connection:
        for row in connection.execute(statement):
            yield row[0], row[1]


def _parsed(value: Any) -> Any:
    if not isinstance(value, (str, bytes)):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value if isinstance(value, str) else value.decode("utf-8", "replace")
