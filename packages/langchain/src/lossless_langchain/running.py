"""Which thread a run belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["Current", "below", "current_run", "in_thread", "keeps_state", "named_thread", "nested_under", "thread_of"]

_KEYS = ("thread_id", "session_id")
_LONGEST = 512  # characters of a thread id


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """The run whose tool is being called: its thread in the core, and the thread id that its config names, if any."""

    thread_id: str
    named: str | None


_current: ContextVar[Current | None] = ContextVar("lossless_current_run", default=None)


def current_run() -> Current | None:
    """Give the run whose tool is being called, if our middleware called it."""
    return _current.get()


@contextmanager
def in_thread(thread_id: str, named: str | None) -> Iterator[None]:
    """Mark what runs meanwhile as called by a tool of this thread's run."""
    token = _current.set(Current(thread_id=thread_id, named=named))
    try:
        yield
    finally:
        _current.reset(token)


def named_thread(config: Mapping[str, Any] | None) -> str | None:
    """Give the thread id that a config names: LangGraph's ``thread_id``, else LangChain's ``session_id``."""
    configurable = (config or {}).get("configurable") or {}
    found = next((configurable[key] for key in _KEYS if configurable.get(key) not in (None, "")), None)
    return None if found is None else str(found)


def thread_of(config: Mapping[str, Any] | None) -> str | None:
    """Give the thread that a tool or a chain is called in: its caller's, unless its config names another."""
    current, named = current_run(), named_thread(config)
    if current is not None and named in (None, current.named):
        return current.thread_id
    return named


def keeps_state(config: Mapping[str, Any] | None) -> bool:
    """Tell whether a graph's state is kept between runs, so that it holds all of its thread."""
    return ((config or {}).get("configurable") or {}).get("__pregel_checkpointer") is not None


def nested_under(config: Mapping[str, Any]) -> str:
    """Give where a graph runs within other graphs: the nodes above it, as ``a/b``; empty for one that runs by itself."""
    namespace = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    above = namespace.split("|")[:-1]
    return "/".join(step.partition(":")[0] for step in above)


def below(thread_id: str, *names: str) -> str:
    """Name a thread of a sub-agent after the one it works for; a name that gets too long is replaced by its hash."""
    whole = "/".join((thread_id, *names))
    if len(whole) <= _LONGEST:
        return whole
    return f"{thread_id[: _LONGEST - 65]}/{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}"
