"""``LosslessMiddleware`` for agents made by ``create_agent``; needs the extra ``agents``."""

try:
    from lossless_langchain.middleware.agent import LosslessMiddleware
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("langchain", "langgraph"):
        raise
    raise ImportError(
        "LosslessMiddleware needs langchain, which is not installed: pip install 'lossless-langchain[agents]'"
    ) from missing

__all__ = ["LosslessMiddleware"]
