"""Summaries written by LangChain's chat models, or by whatever LangChain's own middleware accepts for it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from lossless.errors import ConfigError
from lossless.policies.model import Answer, Summarizer, SummarizeRequest
from lossless_langchain.codec import decode_stored
from lossless_langchain.models import chat_model_of, load_model, model_name, usage_of

__all__ = ["ChatModelSummarizer", "MessagesToSummarize", "as_summarizer"]

_CONFIG: RunnableConfig = {"tags": ["nostream"], "metadata": {"lc_source": "summarization"}}
"""A summary's tokens are not the agent's answer: LangGraph leaves out of its streams what has this tag."""


class ChatModelSummarizer:
    """Writes summaries with a chat model: ``Engine(…, summarizer=ChatModelSummarizer(model))``.

    Args:
        model: a chat model, one with bindings or retries, or a name such as ``openai:gpt-5.2`` (with the extra ``agents``).
        fallbacks: models that are asked in turn when the one before raises.
        callbacks: told of each call.

    Raises:
        ConfigError: a model can't be loaded by its name.
    """

    def __init__(
        self,
        model: BaseChatModel | Runnable[Any, Any] | str,
        *,
        fallbacks: Sequence[BaseChatModel | Runnable[Any, Any] | str] = (),
        callbacks: Callbacks = None,
    ) -> None:
        chain = [load_model(each) if isinstance(each, str) else each for each in (model, *fallbacks)]
        self._model = chain[0].with_fallbacks(chain[1:]) if len(chain) > 1 else chain[0]
        self._config: RunnableConfig = {**_CONFIG, "callbacks": callbacks}
        self.models = tuple(name for each in chain if (name := model_name(each)))
        self.route = "langchain:" + (",".join(self.models) or type(chain[0]).__qualname__)

    async def __call__(self, request: SummarizeRequest) -> Answer:
        """Write a summary of what the request holds."""
        answer = await self._model.ainvoke(_prompt(request), self._config)
        return _answer(answer)


class MessagesToSummarize(list[AnyMessage]):
    """What a function or runnable is given: the messages, as LangChain's middleware gives them, with all that the request says.

    Of a pass over summaries there are no messages: their text stands in one.
    """

    def __init__(self, request: SummarizeRequest) -> None:
        found = [message for one in request.messages for message in decode_stored(one)]
        super().__init__(found or [HumanMessage(request.text)])  # type: ignore[arg-type]
        self.request = request

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "request":
            raise AttributeError(name)
        return getattr(self.request, name)


def as_summarizer(given: Any) -> Summarizer:
    """Make a summarizer of what LangChain's own middleware accepts: a model's name, a model, a runnable, or a function.

    A runnable and a function, sync or async, get the messages to summarize; a function of ours gets the ``SummarizeRequest`` it
    expects, since the messages carry its attributes, too.

    Raises:
        ConfigError: it is none of these.
    """
    if isinstance(given, ChatModelSummarizer) or _takes_a_request(given):
        summarizer: Summarizer = given
        return summarizer
    if isinstance(given, (str, BaseChatModel)) or (isinstance(given, Runnable) and chat_model_of(given) is not None):
        return ChatModelSummarizer(given)
    if isinstance(given, Runnable):
        return _RunnableSummarizer(given)
    if callable(given):
        return _FunctionSummarizer(given)
    raise ConfigError(
        f"a summarizer can't be a {type(given).__name__}", hint="give a model's name, a chat model, a runnable or a function"
    )


class _RunnableSummarizer:
    def __init__(self, runnable: Runnable[Any, Any]) -> None:
        self._runnable = runnable
        self.route = f"langchain:{runnable.get_name()}"

    async def __call__(self, request: SummarizeRequest) -> Answer:
        return _answer(await self._runnable.ainvoke(MessagesToSummarize(request), _CONFIG))


class _FunctionSummarizer:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self.route = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"

    def __call__(self, request: SummarizeRequest) -> Answer | Awaitable[Answer]:
        answer = self._function(MessagesToSummarize(request))
        return _awaited(answer) if inspect.isawaitable(answer) else _answer(answer)


async def _awaited(answer: Awaitable[Any]) -> Answer:
    return _answer(await answer)


def _takes_a_request(given: Any) -> bool:
    """Tell whether a function says that it takes a ``SummarizeRequest``."""
    if isinstance(given, Runnable) or not callable(given):
        return False
    try:
        parameters = list(inspect.signature(given).parameters.values())
    except (TypeError, ValueError):
        return False
    return bool(parameters) and "SummarizeRequest" in str(parameters[0].annotation)


def _prompt(request: SummarizeRequest) -> list[BaseMessage]:
    before = f"The summary before this part ended with:\n{request.previous}\n\n" if request.previous else ""
    return [SystemMessage(request.instructions), HumanMessage(before + request.text)]


def _answer(given: Any) -> Answer:
    """Read an answer: a message with what it took, or text. What is neither counts as failed."""
    if isinstance(given, BaseMessage):
        named = given.response_metadata.get("model_name") or given.response_metadata.get("model")
        return Answer(text=str(given.text), model=named if isinstance(named, str) else "", usage=usage_of(given))
    if isinstance(given, Answer):
        return given
    if not isinstance(given, str):
        raise TypeError(f"a summarizer returned a {type(given).__name__}, no text")
    return Answer(text=given)
