"""Use every public part of ``lossless-langchain`` once, with whatever versions are installed; warnings are errors.

Run with the oldest versions that the package admits, it proves its lower bounds.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from typing import Any

warnings.simplefilter("error")


def main() -> int:
    """Use all of it, and name the versions."""
    from langchain.agents import create_agent
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.runnables import RunnableLambda

    import lossless_langchain as ours
    from lossless import Engine

    class Model(FakeListChatModel):
        def bind_tools(self, tools: Any, **_options: Any) -> Any:
            del tools
            return self

    config: Any = {"configurable": {"session_id": "s", "thread_id": "t"}}
    given = [HumanMessage("a", id="1"), ToolMessage("b", tool_call_id="c", artifact={"rows": [(1, b"x")]}), AIMessage("d")]
    with Engine("sqlite://", window=4_000) as engine:
        history = ours.LosslessChatMessageHistory("h", engine)
        history.add_messages(given)
        assert len(history.messages) >= 1
        chain = ours.LosslessRunnableWithMessageHistory(
            RunnableLambda(lambda shown: AIMessage(str(len(shown)))), ours.history_factory(engine)
        )
        assert chain.invoke([HumanMessage("a")], config).content == "1"
        assert [chunk.content for chunk in chain.stream([HumanMessage("b")], config)] == ["3"]
        memory = ours.LosslessMemory(
            engine, session_id="m", llm=Model(responses=["The user counted from zero."]), max_token_limit=1_000
        )
        for number in range(30):
            memory.save_context({"input": f"Number {number}. " + "word " * 30}, {"output": "Noted."})
        memory.prune()
        assert "counted from zero" in memory.moving_summary_buffer
        agent: Any = create_agent(Model(responses=["Done."]), middleware=[ours.LosslessMiddleware(engine)])
        assert agent.invoke({"messages": [HumanMessage("go")]}, config)["messages"][-1].content == "Done."
        assert ours.lossless_context(engine, thread="s").invoke("c")
        assert ours.lossless_tools(engine, "s")
        assert ours.import_messages(given, engine, "i") == len(given)
        assert engine.verify().ok
    with Engine("sqlite://") as engine:
        history = ours.LosslessChatMessageHistory("h", engine)
        history.add_messages(given)
        assert history.messages == given
    print(", ".join(f"{name} {version(name)}" for name in ("langchain-core", "langchain", "langchain-classic", "pydantic")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
