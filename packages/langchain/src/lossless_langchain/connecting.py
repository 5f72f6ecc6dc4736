"""Whatever a chat history is given as its connection, as an engine."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from lossless import Engine
from lossless.errors import ConfigError, StoreOpenError
from lossless.locks import ForkLock
from lossless.sharing import shared_engine

__all__ = ["engine_for", "plain_url", "session_name"]

_DRIVERS = {"sqlite+aiosqlite": "sqlite", "sqlite+pysqlite": "sqlite", "postgresql+asyncpg": "postgresql+psycopg"}
"""Drivers that LangChain's own histories name, and what opens the same database here."""

_memories: WeakKeyDictionary[Any, Engine] = WeakKeyDictionary()
_guard = ForkLock()


def engine_for(connection: Any, *, namespace: str = "default", window: int | None = None) -> Engine:
    """Give the engine that a connection means.

    Args:
        connection: an engine, a URL, an engine of SQLAlchemy (sync or async), whose database is meant, or None:
            ``$LOSSLESS_URL``, else ``sqlite:///lossless.db``.
        namespace: the tenant, of an engine that is opened.
        window: the context window of an engine that is opened, in tokens.

    Raises:
        ConfigError: it is none of these.
        StoreOpenError: the database can't be opened.
    """
    if isinstance(connection, Engine):
        return connection
    if connection is None:
        return shared_engine(None, namespace=namespace, window=window)
    if isinstance(connection, (str, URL)):
        return shared_engine(plain_url(connection), namespace=namespace, window=window)
    url = getattr(connection, "url", None)
    if not isinstance(url, URL):
        raise ConfigError(
            f"a connection can't be a {type(connection).__name__}", hint="give an Engine, or a URL such as sqlite:///memory.db"
        )
    if url.database not in (None, "", ":memory:"):
        return shared_engine(plain_url(url), namespace=namespace, window=window)
    with _guard:  # a database in memory is nobody else's: as long as theirs is there, so is ours
        if connection not in _memories:
            _memories[connection] = shared_engine("sqlite://", namespace=namespace, window=window)
        return _memories[connection]


def plain_url(url: str | URL) -> str:
    """Give a URL as the core opens it, with its password.

    Raises:
        StoreOpenError: it can't be read as one.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the parser's words would repeat the password
        raise StoreOpenError("the database URL can't be read", hint="for example sqlite:///memory.db") from None
    known = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
    return known.render_as_string(hide_password=False)


def session_name(session_id: Any) -> str:
    """Give the thread id of a session.

    Raises:
        ConfigError: there is none.
    """
    name = "" if session_id is None else str(session_id)
    if not name:
        raise ConfigError("no session id is given", hint='for example session_id="user-42"; it is the thread\'s id')
    return name
