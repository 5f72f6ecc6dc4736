"""Engines by address: for objects of frameworks that are given a URL, or are pickled and made again elsewhere.

Many such objects, one for each request perhaps, share one engine. An address never holds a password.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from lossless.engine import DEFAULT_URL, Engine
from lossless.errors import ConfigError, StoreOpenError
from lossless.locks import ForkLock

__all__ = ["address_of", "engine_at", "shared_engine"]

_lock = ForkLock()
_shared: dict[tuple[str, str, int | None], Engine] = {}
_by_token: WeakValueDictionary[str, Engine] = WeakValueDictionary()
_tokens: WeakKeyDictionary[Engine, str] = WeakKeyDictionary()


def shared_engine(url: str | None = None, *, namespace: str = "default", window: int | None = None) -> Engine:
    """Give the engine of this process for a database, opening it where nobody has; it is closed when the process ends.

    Args:
        url: as for ``Engine``. Every call with an address in memory (``sqlite://``) gives an engine of its own.
        namespace: the tenant.
        window: the context window, in tokens.

    Raises:
        StoreOpenError: the database can't be opened.
    """
    found = _absolute(url or os.environ.get("LOSSLESS_URL") or DEFAULT_URL)
    if _in_memory(found):
        return Engine(_text(found), namespace=namespace, window=window)
    place = (_text(found), namespace, window)
    with _lock:
        engine = _shared.get(place)
        if engine is None or engine.closed:
            engine = _shared[place] = Engine(place[0], namespace=namespace, window=window)
        return engine


def address_of(engine: Engine) -> dict[str, Any]:
    """Give what leads to an engine again, as JSON values: in this process to the very engine, elsewhere to its database."""
    with _lock:
        token = _tokens.setdefault(engine, uuid4().hex)
        _by_token[token] = engine
    url = _without_password(_absolute(engine.url))
    window = engine.budget.window if engine.budget is not None else None
    return {
        "url": _text(url),
        "namespace": engine.namespace,
        "window": window,
        "encrypted": engine.encrypted,
        "engine": token,
    }


def engine_at(address: Mapping[str, Any]) -> Engine:
    """Give the engine that an address leads to.

    A password is taken from ``$LOSSLESS_URL``, if that is the same database, else from where PostgreSQL's clients look for one.

    Raises:
        ConfigError: it was in memory, or encrypted, in another process.
        StoreOpenError: the database can't be opened.
    """
    with _lock:
        engine = _by_token.get(str(address.get("engine")))
    if engine is not None and not engine.closed:
        return engine
    url = _absolute(str(address["url"]))
    if _in_memory(url):
        raise ConfigError("the engine was in memory, and is gone", hint="use a database file, or give the object an engine=")
    if address.get("encrypted"):
        raise ConfigError("the engine has a cipher, whose key is not passed on", hint="give the object an engine=")
    return shared_engine(_text(_with_password(url)), namespace=str(address["namespace"]), window=address.get("window"))


def _with_password(url: URL) -> URL:
    known = os.environ.get("LOSSLESS_URL")
    if not known:
        return url
    configured = _absolute(known)
    return configured if _without_password(configured) == _without_password(url) else url


def _without_password(url: URL) -> URL:
    query = {name: value for name, value in url.query.items() if not name.lower().endswith("password")}
    return URL.create(url.drivername, url.username, None, url.host, url.port, url.database, query)


def _absolute(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the parser's words would repeat the password
        raise StoreOpenError("the database URL can't be read", hint="for example sqlite:///lossless.db") from None
    if _in_memory(parsed) or not parsed.drivername.startswith("sqlite") or not parsed.database:
        return parsed
    return parsed.set(database=str(Path(parsed.database).absolute()))


def _in_memory(url: URL) -> bool:
    return url.drivername.startswith("sqlite") and url.database in (None, "", ":memory:")


def _text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


def _close_all() -> None:
    with _lock:
        engines = list(_shared.values())
        _shared.clear()
    for engine in engines:
        engine.close()


atexit.register(_close_all)
