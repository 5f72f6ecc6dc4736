"""ChatModelSummarizer, lossless_context, and models by name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnablePassthrough

from lossless import Engine
from lossless.errors import ConfigError, PluginError
from lossless_langchain import ChatModelSummarizer, lossless_context
from lossless_langchain.models import profile_name
from lossless_langchain_models import ScriptedModel
from lossless_prepared import prepared

SUMMARY = "The user reported many invoices, each with its amount in EUR, one after the other."


def fill(engine: Engine, thread: str = "t", count: int = 60) -> None:
    engine.thread(thread).append(
        [{"role": "user", "content": f"Invoice {n} has {n} EUR. " + "more words " * 40} for n in range(count)]
    )


def answer(text: str = SUMMARY) -> AIMessage:
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "input_token_details": {"cache_read": 40}}
    return AIMessage(text, usage_metadata=usage, response_metadata={"model_name": "scripted"})  # type: ignore[arg-type]


def test_a_chat_model_writes_the_summaries_and_what_it_took_is_known() -> None:
    told: list[str] = []

    class Handler(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            told.extend(kwargs.get("tags") or [])

    model = ScriptedModel(script=[answer()])
    with Engine("sqlite://", window=8_000, summarizer=ChatModelSummarizer(model, callbacks=[Handler()])) as engine:
        fill(engine)
        result = engine.thread("t").compact(force=True)
        engine.thread("t").wait()
        assert SUMMARY in str([item.text for item in engine.thread("t").context().items if item.kind == "summary"])
        assert result.status in ("done", "partial")
    assert "nostream" in told
    assert isinstance(model.seen[0][0], SystemMessage)
    assert "Invoice 0 has 0 EUR" in model.seen[0][1].text


def test_fallbacks_are_asked_when_a_model_fails() -> None:
    first, second = ScriptedModel(script=[ConnectionError("down")]), ScriptedModel(script=[answer()])
    with Engine("sqlite://", window=8_000, summarizer=ChatModelSummarizer(first, fallbacks=[second])) as engine:
        fill(engine)
        engine.thread("t").compact()
        assert second.seen
        assert SUMMARY in str(engine.thread("t").context().messages)


def test_a_model_that_fails_costs_no_message_and_the_summary_is_degraded() -> None:
    with Engine(
        "sqlite://", window=8_000, summarizer=ChatModelSummarizer(ScriptedModel(script=[ConnectionError("down")]))
    ) as engine:
        fill(engine)
        engine.thread("t").compact()
        summaries = [item for item in engine.thread("t").context().items if item.kind == "summary"]
        assert summaries
        assert engine.thread("t").describe(summaries[0].id)["degraded"]


def test_a_model_without_the_extra_or_of_no_provider_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be loaded"):
        ChatModelSummarizer("no such provider:x")
    code = (
        "import sys; sys.modules['langchain'] = None; sys.modules['langchain.chat_models'] = None\n"
        "from lossless_langchain import ChatModelSummarizer\n"
        "try:\n    ChatModelSummarizer('openai:gpt-5.2')\n"
        "except Exception as error:\n    print(error.hint)\n"
        "try:\n    from lossless_langchain import LosslessMiddleware\n"
        "except ImportError as error:\n    print(error)"
    )
    assert prepared().run(code, folder=tmp_path).out.count("pip install 'lossless-langchain[agents]'") == 2


def test_an_engine_gives_models_of_installed_providers_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import langchain.chat_models

    monkeypatch.setattr(langchain.chat_models, "init_chat_model", lambda name: ScriptedModel(script=[f"I am {name}"]))
    with Engine("sqlite://") as engine:
        said = engine.plugins.model("house:model")("who are you?")
        assert isinstance(said, Awaitable)

        async def wait() -> str:
            return await said

        assert asyncio.run(wait()) == "I am house:model"
        with pytest.raises(PluginError, match="nameless"):
            engine.plugins.model("nameless")


def test_opening_an_engine_loads_no_langchain_though_its_plugin_is_installed(tmp_path: Path) -> None:
    code = (
        "import sys; from lossless import Engine; import lossless_langchain\n"
        "with Engine('sqlite://') as engine:\n    assert 'langchain' in engine.plugins.names(), engine.plugins.names()\n"
        "assert not any(name.startswith(('langchain', 'langgraph')) for name in sys.modules)"
    )
    done = prepared().run(code, folder=tmp_path)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("name", "profile"), [("claude-sonnet-5", "anthropic"), ("gemini-3-pro", "gemini"), ("gpt-5.2", "openai"), ("x", "openai")]
)
def test_the_rules_are_those_of_the_models_provider(name: str, profile: str) -> None:
    assert profile_name(ScriptedModel(script=[], model_name=name)) == profile


def test_a_chain_is_shown_the_active_context() -> None:
    with Engine("sqlite://", window=8_000) as engine:
        fill(engine)
        engine.thread("t").compact()
        model = ScriptedModel(script=["ok"])
        config: Any = {"configurable": {"thread_id": "t"}}
        prompt = ChatPromptTemplate.from_messages([("system", "s"), MessagesPlaceholder("history"), ("human", "{question}")])
        chain = RunnablePassthrough.assign(history=lossless_context(engine)) | prompt | model
        chain.invoke({"question": "how much?"}, config)
        shown = model.seen[-1]
        assert shown[0].text == "s"
        assert "sum_" in shown[1].text
        assert shown[-1].text == "how much?"
        asyncio.run((lossless_context(engine) | model).ainvoke([HumanMessage("and now?")], config))
        assert [message.text for message in model.seen[-1]] == [*(message.text for message in shown[1:-1]), "and now?"]
        for given in ([("user", "and now?")], [{"role": "user", "content": "and now?"}], HumanMessage("and now?"), "and now?"):
            assert lossless_context(engine, thread="t").invoke(given)[-1] == HumanMessage("and now?")
        for given in (None, {"question": "x"}, [7, object()]):
            assert lossless_context(engine, thread="t").invoke(given)[-1].text.startswith("Invoice 59")
        assert len(engine.thread("t").messages()) == 60, "nothing is stored"
        with pytest.raises(ConfigError, match="no thread"):
            chain.invoke({"question": "x"})


def test_without_a_window_the_whole_view_is_shown() -> None:
    with Engine("sqlite://") as engine:
        fill(engine, count=30)
        assert len(lossless_context(engine, thread="t").invoke(None)) == 30
