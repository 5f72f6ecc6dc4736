"""``LosslessMiddleware`` for agents made by ``create_agent``; needs the extra ``agents``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossless_langchain.middleware.agent import LosslessMiddleware

__all__ = ["LosslessMiddleware"]

if not TYPE_CHECKING:  # the other modules of this folder do without the extra, so it is asked for only when the class is

    def __getattr__(name: str) -> Any:
        if name != "LosslessMiddleware":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from lossless_langchain.middleware.agent import LosslessMiddleware
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("langchain", "langgraph"):
                raise
            raise ImportError(
                "LosslessMiddleware needs langchain, which is not installed: pip install 'lossless-langchain[agents]'"
            ) from missing
        return LosslessMiddleware
