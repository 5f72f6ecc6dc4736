"""A middleware's summarizer as the engine's: for the threads of that middleware, and for others where nothing else writes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from lossless import Engine, hookimpl
from lossless.errors import ConfigError
from lossless.locks import ForkLock
from lossless.policies.model import Summarizer, SummarizeRequest
from lossless_langchain.summarizer import as_summarizer

__all__ = ["summarize_with"]

_KEPT = 10_000
"""Threads whose summarizer is remembered."""


class _Summarizers:
    """The summarizers of the agents that share an engine."""

    def __init__(self, default: Summarizer) -> None:
        self._default = default
        self._recent: OrderedDict[str, Summarizer] = OrderedDict()
        self._lock = ForkLock()

    def claim(self, thread_id: str, summarizer: Summarizer) -> None:
        with self._lock:
            self._recent[thread_id] = summarizer
            self._recent.move_to_end(thread_id)
            while len(self._recent) > _KEPT:
                self._recent.popitem(last=False)

    @hookimpl
    def lossless_summarize(self, request: SummarizeRequest) -> Any:
        """Write a summary with the summarizer of the agent whose thread it is."""
        return self._recent.get(request.thread_id, self._default)(request)


_plugins: WeakKeyDictionary[Engine, _Summarizers] = WeakKeyDictionary()
_guard = ForkLock()


def summarize_with(engine: Engine, given: Any) -> Callable[[str], None]:
    """Let an engine summarise with what a middleware was given; give what says of a thread that it is that middleware's.

    Raises:
        ConfigError: the engine has a summarizer already, or this is none.
    """
    summarizer = as_summarizer(given)
    if engine.summarizer is not None:
        raise ConfigError("the engine has a summarizer already", hint="give it to the engine or to the middleware, not to both")
    with _guard:
        plugin = _plugins.get(engine)
        if plugin is None:
            plugin = _plugins[engine] = _Summarizers(summarizer)
            engine.plugins.register(plugin)
    return lambda thread_id: plugin.claim(thread_id, summarizer)
