"""Taking over what LlamaIndex's own chat stores hold. Importing again adds only what is new."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import MessageStatus
from sqlalchemy import Column, MetaData, Table, create_engine, inspect, select
from sqlalchemy import Engine as Source
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from lossless import Engine
from lossless.errors import ConfigError, MessageError
from lossless_llamaindex.arguments import engine_of
from lossless_llamaindex.codec import FORMAT, encode_message
from lossless_llamaindex.stores.async_chat_store import LosslessAsyncChatStore

__all__ = ["import_chat_store", "import_chat_table"]

_POSTGRES = ("postgresql", "postgresql+asyncpg", "postgresql+psycopg2")
_DRIVERS = {"sqlite+aiosqlite": "sqlite", **dict.fromkeys(_POSTGRES, "postgresql+psycopg")}
"""What the stores' own URLs name, and what reads the same database here."""


def import_chat_store(
    source: str | PathLike[str] | Mapping[str, Any] | BaseChatStore,
    engine: Engine | str,
    *,
    fs: Any = None,
    missing_ok: bool = False,
) -> dict[str, int]:
    """Take over the messages of a chat store: each key becomes the thread of that id.

    Args:
        source: a chat store; the file that ``SimpleChatStore.persist`` wrote; or what is in it.
        engine: where to; or its URL.
        fs: an fsspec file system that the file is read from.
        missing_ok: whether a file that is not there is an empty store.

    Returns:
        How many messages were added, by key.

    Raises:
        ConfigError: the source is none of these, or the engine is none.
        FileNotFoundError: there is no such file.
        MessageError: the file is no chat store, or a message of it can't be read; the keys before it are imported.
    """
    target = engine_of(engine)
    if isinstance(source, BaseChatStore):
        found: Mapping[str, Any] = {key: source.get_messages(key) for key in source.get_keys()}
    elif isinstance(source, Mapping):
        found = _keys(source)
    elif isinstance(source, (str, PathLike)):
        found = _keys(_read(source, fs, missing_ok))
    else:
        raise ConfigError(f"a {type(source).__name__} is no chat store", hint="give a chat store, its file, or what is in it")
    return {key: _import(target, key, messages) for key, messages in found.items()}


def import_chat_table(
    source: str | Source, engine: Engine | str, *, table: str = "llama_index_memory", schema: str | None = None
) -> dict[str, int]:
    """Take over the table of an SQL chat store: ``SQLAlchemyChatStore``'s, or that of the SQLite or PostgreSQL store.

    What was archived there is archived for a ``LosslessAsyncChatStore``, too.

    Args:
        source: the URL of its database, as the store was given it, or an engine of SQLAlchemy.
        engine: where to, or its URL; each key becomes the thread of that id.
        table: its name; the SQLite store's is ``chatstore``, the PostgreSQL store's ``data_chatstore`` unless said otherwise.
        schema: of a PostgreSQL database.

    Returns:
        How many messages were added, by key.

    Raises:
        ConfigError: there is no such database or table, no driver for it, or the table is no chat store's.
        MessageError: a message can't be read; the keys before it are imported.
    """
    target = engine_of(engine)
    database = source if isinstance(source, Source) else _open(source)
    try:
        found, archived = _rows(database, table, schema)
    except SQLAlchemyError as error:
        raise ConfigError(f"the table {table!r} can't be read: {type(error).__name__}", hint="is the URL right?") from None
    finally:
        if database is not source:
            database.dispose()
    added = {key: _import(target, key, messages) for key, messages in found.items()}
    queue = LosslessAsyncChatStore(target)
    for key, count in (+archived).items():
        queue.archive_up_to(key, count)
    return added


def _import(engine: Engine, key: str, messages: Sequence[Any]) -> int:
    payloads = [_payload(key, number, message) for number, message in enumerate(messages)]
    return len(engine.thread(key).sync(payloads, format=FORMAT)) if payloads else 0


def _payload(key: str, number: int, message: Any) -> dict[str, Any]:
    try:
        while isinstance(message, (str, bytes)):
            message = json.loads(message)
        made = message if isinstance(message, ChatMessage) else ChatMessage.model_validate(message)
    except (ValueError, TypeError) as error:
        raise MessageError(
            f"message {number} of {key!r} can't be read", hint="it must be a ChatMessage as JSON", index=number
        ) from error
    return encode_message(made)


def _read(path: str | PathLike[str], fs: Any, missing_ok: bool) -> Mapping[str, Any]:
    try:
        if fs is not None:
            with fs.open(str(path), "r", encoding="utf-8") as file:
                text = file.read()
        else:
            text = Path(path).read_text(encoding="utf-8")
        read = json.loads(text)
        read = json.loads(read) if isinstance(read, str) else read  # an older version wrote JSON within JSON
    except FileNotFoundError:
        if missing_ok:
            return {"store": {}}
        raise
    except ValueError as error:
        raise MessageError(f"{path} is no JSON", hint="give the file that SimpleChatStore.persist wrote") from error
    return read if isinstance(read, Mapping) else {}


def _keys(data: Mapping[str, Any]) -> Mapping[str, Any]:
    store = data.get("store")
    if not isinstance(store, Mapping) or not all(isinstance(messages, list) for messages in store.values()):
        raise MessageError("it is no chat store", hint='a SimpleChatStore is written as {"store": {key: [messages]}}')
    return store


def _open(url: str) -> Source:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the parser's words would repeat the password
        raise ConfigError("the database URL can't be read", hint="for example sqlite:///chat.db") from None
    parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
    file = parsed.database if parsed.drivername == "sqlite" else None
    if file and not file.startswith((":memory:", "file:")) and not Path(file).is_file():  # reading would make it
        raise ConfigError(
            f"there is no file {file}", hint="is the path right? sqlite:///chat.db is relative, sqlite:////chat.db not"
        )
    try:
        return create_engine(parsed)
    except (ImportError, SQLAlchemyError):
        hint = 'install it, for PostgreSQL: pip install "lossless[postgres]"'
        raise ConfigError(f"there is no driver for {parsed.drivername}", hint=hint) from None


def _rows(database: Source, table: str, schema: str | None) -> tuple[dict[str, list[Any]], Counter[str]]:
    """Read messages by key, in order: one a row, or a whole key in a row; and how many of each key are archived."""
    inspector = inspect(database)
    if not inspector.has_table(table, schema=schema):
        raise ConfigError(f"there is no table {table!r}", hint="name the table of the chat store as table=")
    # Types are left out: what a store keeps as JSON is JSON text or has been read by the driver.
    names = [column["name"] for column in inspector.get_columns(table, schema=schema)]
    content = next((name for name in ("data", "value") if name in names), None)
    if content is None or "key" not in names:
        raise ConfigError(f"the table {table!r} is no chat store's", hint="it has no columns key and data, or key and value")
    source = Table(table, MetaData(), *(Column(name) for name in names), schema=schema)
    order = [source.c[name] for name in ("timestamp", "id") if name in names]
    found: dict[str, list[Any]] = {}
    archived: Counter[str] = Counter()
    status = [source.c.status] if "status" in names else []
    with database.connect() as connection:
        for row in connection.execute(select(source.c.key, source.c[content], *status).order_by(*order)):
            found.setdefault(str(row[0]), []).extend(_each(row[1]))
            archived[str(row[0])] += list(row[2:]) == [MessageStatus.ARCHIVED.value]
    return found, archived


def _each(value: Any) -> Iterator[Any]:
    """Give the messages in a column: one, or, of the PostgreSQL store, a list. What is no message is refused when it is made."""
    try:
        read = json.loads(value) if isinstance(value, (str, bytes)) else value
    except ValueError:
        read = value
    if isinstance(read, (list, tuple)):
        yield from read
    elif read is not None:
        yield read
