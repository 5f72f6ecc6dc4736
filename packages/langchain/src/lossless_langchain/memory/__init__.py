"""``LosslessMemory`` for LangChain's classic chains and agents; needs the extra ``classic``."""

try:
    from lossless_langchain.memory.classic import LosslessMemory
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] != "langchain_classic":
        raise
    raise ImportError(
        "LosslessMemory needs langchain-classic, which is not installed: pip install 'lossless-langchain[classic]'"
    ) from missing

__all__ = ["LosslessMemory"]
