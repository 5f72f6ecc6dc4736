"""Lossless for LangChain: context memory that never loses its sources, behind LangChain's own interfaces.

Importing this package loads neither LangChain nor a database; names are loaded when they are used.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_langchain.history import LosslessChatMessageHistory, history_factory
    from lossless_langchain.importing import import_message_table, import_messages
    from lossless_langchain.lcel import lossless_context
    from lossless_langchain.memory import LosslessMemory
    from lossless_langchain.message_history import LosslessRunnableWithMessageHistory
    from lossless_langchain.middleware import LosslessMiddleware
    from lossless_langchain.summarizer import ChatModelSummarizer
    from lossless_langchain.tools import lossless_tools

__all__ = [
    "ChatModelSummarizer",
    "LosslessChatMessageHistory",
    "LosslessMemory",
    "LosslessMiddleware",
    "LosslessRunnableWithMessageHistory",
    "__version__",
    "history_factory",
    "import_message_table",
    "import_messages",
    "lossless_context",
    "lossless_tools",
]

__version__ = version("lossless-langchain")

_HOMES = {
    "ChatModelSummarizer": "lossless_langchain.summarizer",
    "LosslessChatMessageHistory": "lossless_langchain.history",
    "LosslessMemory": "lossless_langchain.memory",
    "LosslessMiddleware": "lossless_langchain.middleware",
    "LosslessRunnableWithMessageHistory": "lossless_langchain.message_history",
    "history_factory": "lossless_langchain.history",
    "import_message_table": "lossless_langchain.importing",
    "import_messages": "lossless_langchain.importing",
    "lossless_context": "lossless_langchain.lcel",
    "lossless_tools": "lossless_langchain.tools",
}

if not TYPE_CHECKING:  # a type checker shall report the names that are missing

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
