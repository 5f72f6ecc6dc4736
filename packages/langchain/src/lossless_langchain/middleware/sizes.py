"""What a model call costs beside its history, and whether an error says that it was too much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from lossless import Budget, Engine
from lossless.errors import ConfigError
from lossless.messages import LangChainFormat
from lossless.tokens import count_parts, count_tools, find_model
from lossless_langchain.codec import encode_message
from lossless_langchain.models import model_name, window_of

__all__ = ["ToolSizes", "budget_for", "is_overflow", "own_budget", "tokens_of"]

_READER = LangChainFormat()
_OVERFLOW = re.compile(
    r"context[_ ](?:length|window|size)|maximum (?:context|prompt)|(?:prompt|input) is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:maximum|max|limit)[^.]{0,60}tokens?|reduce the length of the (?:messages|prompt)|token limit exceeded"
    r"|input length and `?max_tokens`? exceed|`?max_new_tokens`? must be <=|must have less than \d+ tokens"
    r"|token count is [\d,]+ but",
    re.IGNORECASE,
)
_OTHERWISE = ("ratelimit", "throttl", "quota", "timeout", "connection", "authentication", "permission")
"""Words in the names of errors that are about something else, whatever their text says."""
_LATER = re.compile(
    r"throttl|rate.?limit|\bquota\b|too many requests|tokens per (?:min|day)|please wait|resource.exhausted", re.IGNORECASE
)
"""The same request would be answered later."""


def own_budget(window: int | None, budget: Budget | None) -> Budget | None:
    """Give the budget that somebody is given by window or in detail, if any.

    Raises:
        ConfigError: by both.
    """
    if window is not None and budget is not None:
        raise ConfigError("window and budget contradict each other", hint="give the window inside the Budget")
    return Budget(window=window) if window is not None else budget


def budget_for(engine: Engine, model: Any, own: Budget | None) -> Budget:
    """Give the budget of a model's context: the middleware's own, the engine's, or what the model's profile says.

    Raises:
        ConfigError: nobody says how large the model's window is.
    """
    if own is not None or engine.budget is not None:
        found = own or engine.budget
        assert found is not None
        return found
    window = window_of(model)
    if window is not None:
        return Budget(window=window)
    known = find_model(model_name(model), engine.plugins.models()) if model_name(model) else None
    if known is not None:
        return Budget(window=known.max_input or known.window)
    name = model_name(model) or ("the model" if model is None else type(model).__name__)
    raise ConfigError(
        f"nothing says how large the window of {name} is: the model has no profile",
        hint="give window= beside the engine, or window=, model= or budget= to the Engine",
    )


def tokens_of(engine: Engine, messages: Iterable[BaseMessage]) -> int:
    """Count what messages cost that are sent beside the context."""
    return sum(count_parts(_READER.read(encode_message(message)), engine.counter) for message in messages)


class ToolSizes:
    """Counts tool schemas, each once as long as it is the same tool."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[int, str], tuple[Any, int]] = {}

    def count(self, tools: Sequence[Any], response_format: Any, profile: str = "openai") -> int:
        """Count the schemas of an agent's tools, and of the answer's format, with what the provider itself says beside tools."""
        if len(self._known) > 1_000:
            self._known.clear()
        given = [*tools, *_schemas(response_format)]
        return sum(self._one(tool, profile) for tool in given) + (self._beside(profile) if given else 0)

    def _one(self, tool: Any, profile: str) -> int:
        known = self._known.get((id(tool), profile))
        if known is None or known[0] is not tool:
            size = count_tools([_schema(tool)], self._engine.counter, profile=profile) - self._beside(profile)
            known = self._known[id(tool), profile] = (tool, size)
        return known[1]

    def _beside(self, profile: str) -> int:
        counter = self._engine.counter
        return count_tools([{}], counter, profile=profile) - count_tools([{}], counter)


def is_overflow(error: BaseException) -> bool:
    """Tell whether a provider refused a request for its length."""
    for kind in type(error).__mro__:
        if kind.__name__ == "ContextOverflowError":
            return True
    names = " ".join(kind.__name__.lower() for kind in type(error).__mro__)
    if any(word in names for word in _OTHERWISE) or getattr(error, "status_code", None) == 429:
        return False
    text = str(error)[:10_000]
    return _OVERFLOW.search(text) is not None and _LATER.search(text) is None


def _schema(tool: Any) -> dict[str, Any]:
    if isinstance(tool, dict) and "input_schema" not in tool and tool.get("type") != "function" and "name" not in tool:
        return tool
    try:
        return convert_to_openai_tool(tool)
    except Exception:  # a provider's own kind of tool: what it says is what is sent
        return tool if isinstance(tool, dict) else {"tool": repr(tool)[:2_000]}


def _schemas(response_format: Any) -> list[Any]:
    """Give the schemas of a response format, of whatever strategy."""
    if response_format is None:
        return []
    specs = getattr(response_format, "schema_specs", None) or [getattr(response_format, "schema_spec", None)]
    found = [schema for spec in specs if isinstance(schema := getattr(spec, "json_schema", None), dict)]
    if found:
        return found
    schema = getattr(response_format, "schema", response_format)
    return [schema] if isinstance(schema, (dict, type)) else []
