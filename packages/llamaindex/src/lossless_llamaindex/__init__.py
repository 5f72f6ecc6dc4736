"""Lossless for LlamaIndex: context memory that never loses its sources, behind LlamaIndex's own interfaces.

Importing this package loads neither LlamaIndex nor a database; names are loaded when they are used.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_llamaindex.memory import LosslessMemory
    from lossless_llamaindex.stores import LosslessAsyncChatStore, LosslessChatStore, import_chat_store, import_chat_table

__all__ = [
    "LosslessAsyncChatStore",
    "LosslessChatStore",
    "LosslessMemory",
    "__version__",
    "import_chat_store",
    "import_chat_table",
]

__version__ = version("lossless-llamaindex")

_HOMES = {
    "LosslessAsyncChatStore": "lossless_llamaindex.stores",
    "LosslessChatStore": "lossless_llamaindex.stores",
    "LosslessMemory": "lossless_llamaindex.memory",
    "import_chat_store": "lossless_llamaindex.stores",
    "import_chat_table": "lossless_llamaindex.stores",
}
_NOT_YET = ("LLMSummarizer", "LosslessFunctionAgent", "LosslessMemoryBlock", "lossless_tools")

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        # ImportError for documented names: of an AttributeError, `from … import …` would swallow the words.
        if name in _NOT_YET:
            raise ImportError(f"{__name__}.{name} is not there yet in version {__version__}; until then use `lossless` itself")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
