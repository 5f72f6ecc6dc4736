"""The middleware: stores each message as it comes, and shows the model the active context."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NotRequired
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from lossless import ActiveContext, Budget, Engine, Thread
from lossless_langchain.connecting import engine_for
from lossless_langchain.middleware.following import followed
from lossless_langchain.middleware.ledger import Ledger, Ledgers, with_ids
from lossless_langchain.middleware.merging import added, holds_all, merged, same
from lossless_langchain.middleware.sizes import ToolSizes, budget_for, is_overflow, own_budget, tokens_of
from lossless_langchain.middleware.usage import charged_tokens, tells
from lossless_langchain.models import profile_name
from lossless_langchain.running import below, current_run, in_thread, keeps_state, named_thread, nested_under
from lossless_langchain.summaries import summarize_with
from lossless_langchain.tools import lossless_tools

__all__ = ["LosslessMiddleware"]

_log = logging.getLogger("lossless")

_OWN = "lossless_thread"
Response = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]


class _State(AgentState[Any]):
    """What the middleware keeps in a run's state: the thread of a run whose config names none."""

    lossless_thread: NotRequired[Annotated[str | None, PrivateStateAttr]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Where a call belongs.

    ``fresh``: the thread id was made up just now. ``whole``: the state holds the whole thread, so that what it lacks was removed.
    """

    thread_id: str
    named: str | None
    fresh: bool
    whole: bool


@dataclass(slots=True, kw_only=True)
class _Call:
    """A model call being prepared.

    ``counted``: what is sent is what was counted; other middleware took nothing out of it and changed nothing.
    """

    run: _Run
    ledger: Ledger
    budget: Budget
    thread: Thread
    context: ActiveContext
    state: list[BaseMessage]
    counted: bool
    request: ModelRequest[Any]


class LosslessMiddleware(AgentMiddleware[_State, Any, Any]):
    """Gives an agent of ``create_agent`` a memory that loses nothing.

    The state and its checkpoints keep every message as it is. Each is also stored in the engine's thread, as it comes, and the
    model is shown the thread's active context: unchanged below soft, with summaries above. If a provider refuses a context for
    its length, it is compacted, and the call is made once more.

    The thread is the config's ``thread_id``; a run without one gets a fresh thread, and so does a sub-agent, below its caller's.

    Args:
        engine: an engine, or the URL of one; engines of the same URL are shared; None: ``$LOSSLESS_URL``, else
            ``sqlite:///lossless.db``.
        window: the model's context window in tokens, where neither the engine nor the model's profile says it.
        budget: thresholds in detail, instead of a window.
        summarizer: writes summaries: the name of a chat model, a chat model, a runnable or a function, as LangChain's own
            ``SummarizationMiddleware`` accepts it; None: the engine's.
        tools: whether the agent gets the recall tools.
        allow_expand: whether its recall tools may expand summaries.
        profile: whose rules the messages must meet: ``openai``, ``anthropic`` or ``gemini``; None: the model's provider's.

    Raises:
        ConfigError: ``window`` and ``budget``, or a summarizer here and one in the engine, contradict each other.
    """

    state_schema = _State

    def __init__(
        self,
        engine: Engine | str | None = None,
        *,
        window: int | None = None,
        budget: Budget | None = None,
        summarizer: Any = None,
        tools: bool = True,
        allow_expand: bool = False,
        profile: str | None = None,
    ) -> None:
        super().__init__()
        self.engine = engine_for(engine)
        self.tools = lossless_tools(self.engine, allow_expand=allow_expand) if tools else []
        self._own_budget = own_budget(window, budget)
        self._profile = profile
        self._ledgers = Ledgers()
        self._sizes = ToolSizes(self.engine)
        self._claim = summarize_with(self.engine, summarizer) if summarizer is not None else lambda _thread_id: None
        self._made_up: dict[str, str] = {}

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Response:
        """Store what is new, show the model the active context, and store its answer."""
        call = self._prepare(request)
        try:
            response = handler(call.request)
        except Exception as error:
            tightened = self._tighten(call, request) if is_overflow(error) else None
            if tightened is None:
                raise
            response = handler(tightened)
        return self._answered(call, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Response:
        """Do the same as :meth:`wrap_model_call`, off the event loop where it reads and writes."""
        call = await asyncio.to_thread(self._prepare, request)
        try:
            response = await handler(call.request)
        except Exception as error:
            tightened = await asyncio.to_thread(self._tighten, call, request) if is_overflow(error) else None
            if tightened is None:
                raise
            response = await handler(tightened)
        return await asyncio.to_thread(self._answered, call, response)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run the tool within its thread, and store its result at once."""
        run = self._run_of(request.state, _config_of(request))
        with in_thread(run.thread_id, run.named):
            result = handler(request)
        self._store_result(run, request.state, result)
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do the same as :meth:`wrap_tool_call`."""
        run = self._run_of(request.state, _config_of(request))
        with in_thread(run.thread_id, run.named):
            result = await handler(request)
        await asyncio.to_thread(self._store_result, run, request.state, result)
        return result

    # Model calls

    def _prepare(self, request: ModelRequest[Any]) -> _Call:
        run = self._run_of(request.state, _config())
        state = with_ids(request.state["messages"])
        ledger = self._ledgers.of(run.thread_id)
        beside = [*added(request.messages, state), *([request.system_message] if request.system_message else [])]
        overhead = tokens_of(self.engine, beside) + self._sizes.count(
            request.tools, request.response_format, self._profile_of(request)
        )
        budget = budget_for(self.engine, request.model, self._own_budget).adjusted(overhead=overhead)
        if ledger.ceiling is not None:
            budget = _lowered(budget, ledger.ceiling, self.engine.margin)
        thread = self.engine.thread(run.thread_id, budget=budget)
        self._claim(run.thread_id)
        context = followed(ledger, thread, state, lambda: self._context(thread, request), whole=run.whole)
        return _Call(
            run=run,
            ledger=ledger,
            budget=budget,
            thread=thread,
            context=context,
            state=state,
            counted=holds_all(request.messages, state),
            request=_shown(request, context, state),
        )

    def _context(self, thread: Thread, request: ModelRequest[Any]) -> ActiveContext:
        return thread.context(format="langchain", profile=self._profile_of(request))

    def _profile_of(self, request: ModelRequest[Any]) -> str:
        return self._profile or profile_name(request.model)

    def _tighten(self, call: _Call, request: ModelRequest[Any]) -> ModelRequest[Any] | None:
        """Compact in an emergency, to half of what was refused; None if nothing can be made shorter."""
        ceiling = call.context.tokens // 2
        call.thread = self.engine.thread(call.run.thread_id, budget=_lowered(call.budget, ceiling, self.engine.margin))
        call.thread.compact(by_hand=False)
        before, call.context = call.context, self._context(call.thread, request)
        if call.context.tokens >= before.tokens:
            return None
        call.ledger.ceiling = ceiling
        return _shown(request, call.context, call.state)

    def _answered(self, call: _Call, response: Response) -> Response:
        inner = response.model_response if isinstance(response, ExtendedModelResponse) else response
        answers = with_ids([inner] if isinstance(inner, AIMessage) else inner.result)
        call.ledger.store_ahead(call.thread, call.state, answers, whole=call.run.whole)
        self._calibrate(call, answers)
        if not call.run.fresh:
            return response
        if isinstance(inner, AIMessage):
            inner = ModelResponse(result=[inner])
        return ExtendedModelResponse(model_response=inner, command=Command(update={_OWN: call.run.thread_id}))

    def _calibrate(self, call: _Call, answers: Sequence[BaseMessage]) -> None:
        """Tell the engine what the provider charged, if it says so and was sent what was counted; never raises."""
        counted, charged = call.context.tokens + call.context.overhead, charged_tokens(answers)
        if charged is None or not call.counted or not tells(counted, charged):
            return
        try:
            call.thread.report_usage(charged, call.context)
        except Exception as error:  # the answer is there, and stored: that a number is not noted must not cost it
            _log.debug("usage_not_noted thread=%s error=%s", call.run.thread_id, type(error).__name__)

    # Tool calls

    def _store_result(self, run: _Run, state: Any, result: ToolMessage | Command[Any]) -> None:
        messages = with_ids(_messages_of(result))
        if messages:
            thread = self.engine.thread(run.thread_id, budget=self._own_budget)
            held = with_ids(state.get("messages") or ()) if isinstance(state, Mapping) else []
            self._ledgers.of(run.thread_id).store_ahead(thread, held, messages, whole=run.whole)

    # Threads

    def _run_of(self, state: Any, config: Mapping[str, Any]) -> _Run:
        """Find the thread that a run belongs to."""
        named, above, caller = named_thread(config), nested_under(config), current_run()
        own = state.get(_OWN) if isinstance(state, Mapping) else None
        if own:
            return _Run(thread_id=own, named=named, fresh=False, whole=True)
        if above and caller is not None and named in (None, caller.named):
            return self._fresh(config, named, caller.thread_id)
        if named is None:
            return self._fresh(config, None, None)
        if above and caller is None:
            first = next((message.id for message in state["messages"] if message.id), "")
            return _Run(thread_id=below(named, above, first), named=named, fresh=False, whole=True)
        return _Run(thread_id=named, named=named, fresh=False, whole=keeps_state(config))

    def _fresh(self, config: Mapping[str, Any], named: str | None, caller: str | None) -> _Run:
        """Make up a thread; the same one when a call is tried again."""
        task = str(config.get("configurable", {}).get("checkpoint_ns") or uuid4())
        if len(self._made_up) > 10_000:
            self._made_up.clear()
        made_up = uuid4().hex
        thread_id = self._made_up.setdefault(task, made_up if caller is None else below(caller, made_up))
        return _Run(thread_id=thread_id, named=named, fresh=True, whole=True)


def _config() -> Mapping[str, Any]:
    """Give the config of the run; empty where the middleware is called outside of one."""
    try:
        return get_config()
    except RuntimeError:
        return {}


def _config_of(request: ToolCallRequest) -> Mapping[str, Any]:
    found = getattr(request.runtime, "config", None)
    return found if isinstance(found, Mapping) else _config()


def _lowered(budget: Budget, ceiling: int, margin: float) -> Budget:
    """Give a budget whose thresholds a refused context would not have passed."""
    limits = budget.limits(margin)
    hard = min(limits.hard, ceiling)
    return replace(budget, hard=hard, soft=min(limits.soft, hard * 3 // 4))


def _shown(request: ModelRequest[Any], context: ActiveContext, state: Sequence[BaseMessage]) -> ModelRequest[Any]:
    """Give the request with the context as its messages: the very same request if they are the same."""
    messages = merged(context, request.messages, state)
    return request if same(messages, request.messages) else request.override(messages=messages)


def _messages_of(result: Any) -> list[Any]:
    """Give the messages that a tool's result brings into the state."""
    if isinstance(result, Command):
        update = result.update if result.graph is None else None
        pairs = update.items() if isinstance(update, Mapping) else update if isinstance(update, (list, tuple)) else ()
        found: list[Any] = []
        with contextlib.suppress(TypeError, ValueError):
            for key, value in pairs:
                if key == "messages":
                    found += value if isinstance(value, (list, tuple)) else [value]
        return found
    return [message for each in result for message in _messages_of(each)] if isinstance(result, (list, tuple)) else [result]
