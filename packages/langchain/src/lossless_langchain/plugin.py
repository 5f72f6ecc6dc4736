"""What the installed package adds to every engine: chat models by name, such as ``openai:gpt-5.2``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lossless import hookimpl

__all__ = ["LangChainModels", "plugin"]


class LangChainModels:
    """Gives chat models through LangChain's ``init_chat_model``. LangChain is loaded when a model is asked for."""

    @hookimpl(trylast=True)
    def lossless_model(self, name: str) -> Callable[[str], Awaitable[str]] | None:
        """Give what answers a prompt with the model ``provider:name``; None for a name without a provider.

        Raises:
            ConfigError: the extra ``agents`` or the provider's package is missing.
        """
        if ":" not in name:
            return None
        from lossless_langchain.models import load_model

        model = load_model(name)

        async def answer(prompt: str) -> str:
            return str((await model.ainvoke(prompt)).text)

        return answer


plugin = LangChainModels()
