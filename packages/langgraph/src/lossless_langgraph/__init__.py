"""Lossless for LangGraph: a checkpointer that keeps everything, and stores it once."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_langgraph.saver import LosslessSaver

__all__ = ["LosslessSaver", "__version__"]

__version__ = version("lossless-langgraph")

_NOT_YET = ("LosslessMessagesChannel", "compaction_node", "lossless_tools", "pre_model_hook")

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> Any:
        if name == "LosslessSaver":
            from lossless_langgraph.saver import LosslessSaver

            return LosslessSaver
        # ImportError for documented names: of an AttributeError, `from … import …` would swallow the words.
        if name in _NOT_YET:
            raise ImportError(f"{__name__}.{name} is not there yet in version {__version__}; until then use `lossless` itself")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
