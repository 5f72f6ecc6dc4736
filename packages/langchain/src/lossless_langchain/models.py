"""What is asked of chat models: their names, their windows, whose rules they follow, what their answers took."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from lossless.errors import ConfigError
from lossless.policies.model import Usage

__all__ = ["chat_model_of", "load_model", "model_name", "profile_name", "usage_of", "window_of"]

_PROFILES = (
    ("anthropic", "anthropic"),
    ("claude", "anthropic"),
    ("google", "gemini"),
    ("gemini", "gemini"),
    ("vertex", "gemini"),
)


def load_model(name: str) -> BaseChatModel:
    """Make a chat model from ``provider:name``.

    Raises:
        ConfigError: the extra ``agents`` or the provider's package is missing, or there is no such provider.
    """
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ConfigError(
            f"the model {name!r} can't be loaded: langchain is missing", hint="pip install 'lossless-langchain[agents]'"
        ) from error
    try:
        model: BaseChatModel = init_chat_model(name)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"the model {name!r} can't be loaded: {error}", hint="name it as provider:model") from error
    return model


def chat_model_of(runnable: Runnable[Any, Any]) -> BaseChatModel | None:
    """Give the chat model within bindings, retries and fallbacks; None if it is something else."""
    found: Any = runnable
    while found is not None and not isinstance(found, BaseChatModel):
        found = getattr(found, "bound", None) or getattr(found, "runnable", None)
    return found


def model_name(model: Any) -> str:
    """Give what a chat model calls itself; empty if it doesn't say."""
    chat = chat_model_of(model) if isinstance(model, Runnable) else None
    for attribute in ("model_name", "model", "model_id", "deployment_name"):
        name = getattr(chat, attribute, None)
        if isinstance(name, str) and name:
            return name
    return ""


def window_of(model: Any) -> int | None:
    """Give the most tokens that a model reads, as its profile says; None if it does not."""
    chat = chat_model_of(model) if isinstance(model, Runnable) else None
    profile = getattr(chat, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, dict) else None
    return window if isinstance(window, int) and window > 0 else None


def profile_name(model: Any) -> str:
    """Give whose rules a model's provider sets for a history: ``anthropic``, ``gemini``, or ``openai`` for all others."""
    chat = chat_model_of(model) if isinstance(model, Runnable) else None
    said = " ".join((type(chat).__module__, str(getattr(chat, "_llm_type", "")), model_name(model))).lower()
    return next((profile for word, profile in _PROFILES if word in said), "openai")


def usage_of(message: BaseMessage) -> Usage | None:
    """Give what an answer took, as the provider reported it; None if it did not."""
    usage = getattr(message, "usage_metadata", None)
    if not isinstance(usage, dict):
        return None
    details = usage.get("input_token_details") or {}
    return Usage(
        calls=1,
        input_tokens=int(usage.get("input_tokens") or 0),
        output_tokens=int(usage.get("output_tokens") or 0),
        cached_tokens=int(details.get("cache_read") or 0),
    )
