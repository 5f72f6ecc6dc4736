"""The LangChain adapter as a user writes it. mypy checks this file in strict mode; nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

import lossless
from lossless_langchain import ChatModelSummarizer, LosslessMiddleware, lossless_context, lossless_tools
from lossless_langchain.codec import decode_message, decode_stored, encode_message


def an_agent_gets_a_memory(engine: lossless.Engine, model: BaseChatModel) -> LosslessMiddleware:
    LosslessMiddleware("sqlite:///memory.db", window=32_000, summarizer="openai:gpt-5.2-mini", tools=False)
    LosslessMiddleware(engine, windows=32_000)  # type: ignore[call-arg]
    return LosslessMiddleware(engine, budget=lossless.Budget(window=32_000), summarizer=model, profile="anthropic")


def a_chat_model_summarises(model: BaseChatModel) -> lossless.Engine:
    return lossless.Engine(summarizer=ChatModelSummarizer(model, fallbacks=[model, "openai:gpt-5.2"]))


def tools_and_contexts(engine: lossless.Engine) -> None:
    assert_type(lossless_tools(engine, "t", allow_expand=True), list[BaseTool])
    assert_type(lossless_tools(engine, engine.thread("t")), list[BaseTool])
    assert_type(lossless_context(engine), Runnable[Any, list[AnyMessage]])


def messages_are_stored_and_read(engine: lossless.Engine, message: BaseMessage) -> None:
    payload = encode_message(message, strict=True)
    assert_type(payload, dict[str, Any])
    assert_type(decode_message(payload), BaseMessage)
    engine.thread("t").append(payload, format="langchain")
    for stored in engine.thread("t").messages():
        assert_type(decode_stored(stored), list[BaseMessage])
