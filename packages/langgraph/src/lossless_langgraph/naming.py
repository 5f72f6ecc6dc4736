"""Naming: what a caller's config, thread id, run id and channels mean."""

from __future__ import annotations

from collections.abc import Collection

from langchain_core.runnables import RunnableConfig

from lossless.errors import ConfigError, LosslessError
from lossless.store.keys import checked_name

__all__ = ["checked_channels", "checked_thread", "run_mark", "where_of"]


def checked_channels(capture: Collection[str]) -> tuple[str, ...]:
    """Give channels, each once.

    Raises:
        ConfigError: they are no texts, or one text.
    """
    if isinstance(capture, str) or not all(isinstance(name, str) for name in capture):
        raise ConfigError("capture names channels", hint='give capture=("messages",), or () for none')
    return tuple(dict.fromkeys(capture))


def where_of(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Give thread, namespace and checkpoint of a config.

    Raises:
        ConfigError: it names no thread.
    """
    configurable = config.get("configurable", {})
    if configurable.get("thread_id") is None:
        raise ConfigError("the config names no thread", hint='give config={"configurable": {"thread_id": "…"}}')
    return checked_thread(configurable["thread_id"]), configurable.get("checkpoint_ns", ""), configurable.get("checkpoint_id")


def checked_thread(thread_id: object) -> str:
    """Give a thread id as text.

    Raises:
        ConfigError: it can't be kept.
    """
    try:
        return checked_name(str(thread_id), "a thread id")
    except LosslessError as error:
        raise ConfigError(error.message, hint=error.hint) from None


def run_mark(run_id: object) -> bytes:
    """Give what a run is known by in the database, once it is hashed."""
    return b"run\0" + str(run_id).encode("utf-8", "surrogatepass")
