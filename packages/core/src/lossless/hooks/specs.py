"""Hook specifications: what a plugin may do. Hooks are called with keyword arguments; take only those you need.

A plugin is any object or module whose functions are marked with ``lossless.hookimpl``; of a class, give an instance. Hooks may
run on the background thread, and several at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from lossless.messages.formats import Format
    from lossless.messages.model import Message
    from lossless.policies.model import Policy, SummarizeRequest
    from lossless.tokens.counter import TokenCounter
    from lossless.tokens.models import ModelInfo

__all__ = [
    "hookimpl",
    "hookspec",
    "lossless_after_compaction",
    "lossless_before_compaction",
    "lossless_correction",
    "lossless_event",
    "lossless_formats",
    "lossless_model",
    "lossless_models",
    "lossless_policies",
    "lossless_redact",
    "lossless_summarize",
    "lossless_token_counter",
]

hookspec = pluggy.HookspecMarker("lossless")
hookimpl = pluggy.HookimplMarker("lossless")
"""Marks a function of a plugin as the implementation of the hook of the same name."""


@hookspec(firstresult=True)
def lossless_summarize(request: SummarizeRequest) -> str | None:
    """Write a summary, or return None to leave it to the next plugin.

    Sync or async; an exception or a blank text counts as failed.
    """


@hookspec
def lossless_policies(counter: TokenCounter) -> Mapping[str, Policy]:  # type: ignore[empty-body]
    """Give policies by name; ``counter`` is the engine's token counter. A name that another plugin took already is an error."""


@hookspec
def lossless_redact(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Give the message that is stored instead of this one, or None to leave it as it is; called for each message of an append.

    ``message`` is a copy of its payload. Each plugin is given what the one before gave, the last registered first. What goes in
    the same must come out the same, or what is appended again is not recognised. A plugin that raises keeps the append from
    storing anything. Mark what you take out by ``lossless.messages.marker(kind)``: ``Message.redacted`` finds it.
    """


@hookspec
def lossless_formats() -> Sequence[Format]:  # type: ignore[empty-body]
    """Give readers of message formats; each has a name with a version, such as ``openai/1``."""


@hookspec(firstresult=True)
def lossless_token_counter(model: str | None) -> TokenCounter | None:
    """Give the token counter for a model, or None to leave it to the next plugin."""


@hookspec
def lossless_models() -> Sequence[ModelInfo]:  # type: ignore[empty-body]
    """Give models that the engine should know, with their context windows in tokens."""


@hookspec(firstresult=True)
def lossless_model(name: str) -> Callable[[str], str | Awaitable[str]] | None:
    """Give what answers a prompt with the model of that name, such as ``openai:gpt-5.2``, or None to leave it to others."""


@hookspec
def lossless_before_compaction(thread_id: str, plan: Mapping[str, Any]) -> None:
    """Take note that a thread is about to be compacted. ``plan``: tokens, target, soft and hard, and whether by hand."""


@hookspec
def lossless_after_compaction(thread_id: str, result: Any) -> None:
    """Take note of a compaction's ``CompactionResult``; a changed one is durable by now."""


@hookspec(firstresult=True)
def lossless_correction(message: Message, thread_id: str) -> bool | str | None:
    """Tell whether a message that a person sent corrects something, or return None to leave it to the next plugin.

    True and False settle it; a text says what is corrected, in words that the messages it is about have.
    """


@hookspec
def lossless_event(event: Mapping[str, Any]) -> None:
    """Take note of an event: ``name`` (such as ``compaction.started``), ``thread_id``, and what belongs to it."""
