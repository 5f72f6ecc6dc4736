"""Lossless for LlamaIndex: context memory that never loses its sources, behind LlamaIndex's own interfaces.

Importing this package loads neither LlamaIndex nor a database; names are loaded when they are used.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_llamaindex.agent import LosslessCodeActAgent, LosslessFunctionAgent, LosslessReActAgent
    from lossless_llamaindex.memory import LosslessMemory
    from lossless_llamaindex.memory_block import LosslessMemoryBlock
    from lossless_llamaindex.stores import LosslessAsyncChatStore, LosslessChatStore, import_chat_store, import_chat_table
    from lossless_llamaindex.summarizer import LLMSummarizer
    from lossless_llamaindex.tools import lossless_tools

__all__ = [
    "LLMSummarizer",
    "LosslessAsyncChatStore",
    "LosslessChatStore",
    "LosslessCodeActAgent",
    "LosslessFunctionAgent",
    "LosslessMemory",
    "LosslessMemoryBlock",
    "LosslessReActAgent",
    "__version__",
    "import_chat_store",
    "import_chat_table",
    "lossless_tools",
]

__version__ = version("lossless-llamaindex")

_HOMES = {
    "LLMSummarizer": "lossless_llamaindex.summarizer",
    "LosslessAsyncChatStore": "lossless_llamaindex.stores",
    "LosslessChatStore": "lossless_llamaindex.stores",
    "LosslessCodeActAgent": "lossless_llamaindex.agent",
    "LosslessFunctionAgent": "lossless_llamaindex.agent",
    "LosslessMemory": "lossless_llamaindex.memory",
    "LosslessMemoryBlock": "lossless_llamaindex.memory_block",
    "LosslessReActAgent": "lossless_llamaindex.agent",
    "import_chat_store": "lossless_llamaindex.stores",
    "import_chat_table": "lossless_llamaindex.stores",
    "lossless_tools": "lossless_llamaindex.tools",
}

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
