"""Lossless for LangGraph: a checkpointer that keeps everything and stores it once, and what graphs need to use their past."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_langgraph.channel import LosslessMessagesChannel
    from lossless_langgraph.importing import Imported, import_checkpoints
    from lossless_langgraph.nodes import compaction_node, pre_model_hook
    from lossless_langgraph.retention import Retained
    from lossless_langgraph.saver import LosslessSaver
    from lossless_langgraph.tools import lossless_tools

__all__ = [
    "Imported",
    "LosslessMessagesChannel",
    "LosslessSaver",
    "Retained",
    "__version__",
    "compaction_node",
    "import_checkpoints",
    "lossless_tools",
    "pre_model_hook",
]

__version__ = version("lossless-langgraph")

_HOMES = {
    "Imported": "lossless_langgraph.importing",
    "LosslessMessagesChannel": "lossless_langgraph.channel",
    "LosslessSaver": "lossless_langgraph.saver",
    "Retained": "lossless_langgraph.retention",
    "compaction_node": "lossless_langgraph.nodes",
    "import_checkpoints": "lossless_langgraph.importing",
    "lossless_tools": "lossless_langgraph.tools",
    "pre_model_hook": "lossless_langgraph.nodes",
}

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
