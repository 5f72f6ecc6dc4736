"""Lossless for LangGraph. This version reserves the name and the version only: the adapter is not there yet."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, NoReturn

__all__ = ["__version__"]

__version__ = version("lossless-langgraph")

_NOT_YET = (
    "LosslessMessagesChannel",
    "LosslessSaver",
    "compaction_node",
    "lossless_tools",
    "pre_model_hook",
)

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> NoReturn:
        # ImportError for documented names: of an AttributeError, `from … import …` would swallow the words.
        if name in _NOT_YET:
            raise ImportError(f"{__name__}.{name} is not there yet in version {__version__}; until then use `lossless` itself")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
