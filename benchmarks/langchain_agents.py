"""What LangChain's own summarization and ours keep of the same conversations: counts, not times.

``uv run python -m benchmarks.langchain_agents`` prints the table; ``--write`` puts it into ``docs/langchain.md``. Both agents are
driven by the same scripted models, so that the counts are the same at every run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from lossless import Engine
from lossless_langchain import LosslessMiddleware

__all__ = ["PAGE", "Outcome", "Scripted", "found_facts", "look", "looked_up", "main", "table", "told_facts"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "langchain.md"
_BEGIN, _END = "<!-- agents: begin -->", "<!-- agents: end -->"
_THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000}
_WORDS = ("the quick brown fox jumps over the lazy dog", "and runs through the wide green forest")
_GIST = "The user told many facts about doors, and the assistant noted each of them."
_REQUEST = "Find the result that matters to invoice 4711."


class Scripted(BaseChatModel):
    """Answers by a function of the messages, and remembers what it was shown."""

    answer: Callable[[list[BaseMessage]], AIMessage]
    seen: list[list[BaseMessage]] = []  # noqa: RUF012 - pydantic copies defaults

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_options: Any) -> Any:
        """Take no notice of tools: the script calls them."""
        del tools
        return self

    def _generate(self, messages: list[BaseMessage], *_given: Any, **_options: Any) -> ChatResult:
        self.seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])


@dataclass
class Outcome:
    """What became of one conversation under one middleware."""

    shown: list[list[BaseMessage]]
    summarizer: list[list[BaseMessage]]
    state: list[BaseMessage]
    texts: list[str] = field(default_factory=list)

    def is_unread(self, what: str) -> bool:
        """Tell whether a text is no longer shown, and was never read by the summarizer."""
        read = any(what in str(message.content) for call in self.summarizer for message in call)
        return not read and not any(what in message.text for message in self.shown[-1])


def main(arguments: Sequence[str] = ()) -> int:
    """Print the table, or write it into its page."""
    found = table()
    if "--write" in arguments:
        text = PAGE.read_text(encoding="utf-8")
        before, rest = text.split(_BEGIN)
        PAGE.write_text(f"{before}{_BEGIN}\n{found}\n{_END}{rest.split(_END)[1]}", encoding="utf-8")
    else:
        print(found)
    return 0


def table() -> str:
    """Measure both and give the table."""
    facts = [f"The code of door {n} is {7919 * (n + 3) % 100_000:05d}." for n in range(60)]
    told = [told_facts(facts, ours) for ours in (False, True)]
    looked = [looked_up(80, ours) for ours in (False, True)]
    rows = [
        ("60 facts in messages of 300 words: facts that can be found afterwards", *(found_facts(facts, one) for one in told)),
        ("facts neither shown any more nor ever read by the summarizer", *(sum(map(one.is_unread, facts)) for one in told)),
        ("messages left in the state, of 120", *(len(one.state) for one in told)),
        ("one request, 80 tool turns: model calls that see the request, of 81", *map(_with_request, looked)),
        ("calls to the summarizer", *(len(one.summarizer) for one in looked)),
        ("messages left in the state, of 162", *(len(one.state) for one in looked)),
    ]
    lines = ["| | `SummarizationMiddleware` | `LosslessMiddleware` |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {what} | {stock} | {ours} |" for what, stock, ours in rows)])


def found_facts(facts: Sequence[str], outcome: Outcome) -> int:
    """Count the facts that stand in what is kept: the thread's messages, or the state's."""
    return sum(any(fact in text for text in outcome.texts) for fact in facts)


def told_facts(facts: Sequence[str], ours: bool) -> Outcome:
    """Tell an agent facts, each in a message of 300 words, under a window of 25 000 tokens."""

    def turns(agent: Any) -> None:
        filler = " ".join(_WORDS * 9)
        for fact in facts:
            agent.invoke({"messages": [HumanMessage(f"{filler}. {fact} {filler}.")]}, _THREAD)

    return _run(lambda _shown: AIMessage("Noted."), turns, ours, window=25_000)


def looked_up(times: int, ours: bool) -> Outcome:
    """Let an agent call a tool so many times after one request, under a window of 20 000 tokens."""
    count = iter(range(times + 1))

    def answer(_shown: list[BaseMessage]) -> AIMessage:
        number = next(count)
        calls = [{"name": "look", "args": {"number": number}, "id": f"call_{number}", "type": "tool_call"}]
        return AIMessage("", tool_calls=calls) if number < times else AIMessage("Found.")  # type: ignore[arg-type]

    return _run(answer, lambda agent: agent.invoke({"messages": [HumanMessage(_REQUEST)]}, _THREAD), ours, window=20_000)


@tool
def look(number: int) -> str:
    """Look something up."""
    return f"Result {number}: " + " ".join(_WORDS * 30)[:2_000]


def _run(answer: Callable[[list[BaseMessage]], AIMessage], turns: Callable[[Any], Any], ours: bool, window: int) -> Outcome:
    model, summarizer = Scripted(answer=answer), Scripted(answer=lambda _shown: AIMessage(_GIST))
    with Engine("sqlite://", window=window, background=False) as engine:
        middleware: AgentMiddleware[Any, Any, Any] = (
            LosslessMiddleware(engine, summarizer=summarizer)
            if ours
            else SummarizationMiddleware(summarizer, trigger=("tokens", window * 6 // 10))
        )
        agent: Any = create_agent(model, tools=[look], middleware=[middleware], checkpointer=InMemorySaver())
        turns(agent)
        state = agent.get_state(_THREAD).values["messages"]
        texts = [message.text for message in engine.thread("t").messages()] if ours else [message.text for message in state]
    return Outcome(model.seen, summarizer.seen, state, texts)


def _with_request(outcome: Outcome) -> int:
    return sum(any(message.text == _REQUEST for message in shown) for shown in outcome.shown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
