"""Arguments that callers pass on from elsewhere: checked here, and refused in words."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from llama_index.core.storage.chat_store.base_db import MessageStatus

from lossless import Engine
from lossless.errors import ConfigError
from lossless.sharing import shared_engine

__all__ = ["engine_of", "status_of", "tokens_of", "whole"]


def engine_of(engine: Any) -> Engine:
    """Give an engine, or the one of this process at a URL.

    Raises:
        ConfigError: it is neither.
        StoreOpenError: the database can't be opened.
    """
    if isinstance(engine, Engine):
        return engine
    if not isinstance(engine, str) or not engine:
        raise ConfigError(f"a {type(engine).__name__} is no engine", hint="give an Engine, or a URL such as sqlite:///chat.db")
    return shared_engine(engine)


def whole(value: Any, name: str) -> int:
    """Give a whole number.

    Raises:
        ConfigError: it is none.
    """
    try:
        return index(value)
    except TypeError:
        raise ConfigError(f"{name} must be a whole number, not {value!r:.50}", hint=f"for example {name}=1") from None


def tokens_of(value: Any, name: str) -> int:
    """Give a number of tokens, which may have been estimated; less than none is none.

    Raises:
        ConfigError: it is no number.
    """
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ConfigError(f"{name} must be a number of tokens, not {value!r:.50}", hint=f"for example {name}=100")
    return max(0, math.ceil(value))


def status_of(value: Any) -> MessageStatus | None:
    """Give a status; None stands for all of them.

    Raises:
        ConfigError: there is no such status.
    """
    try:
        return None if value is None else MessageStatus(value)
    except ValueError:
        known = ", ".join(each.value for each in MessageStatus)
        raise ConfigError(f"there is no status {value!r:.50}", hint=f"one of {known}, or None for all") from None
