"""What a graph's state holds of messages is in the thread of the same id, stored once, and its view follows the state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer, add_messages
from langgraph.types import Overwrite
from sqlalchemy import text

from lossless import Engine
from lossless.errors import ExistsError
from lossless_langchain import LosslessMiddleware
from lossless_langchain.codec import decode_stored
from lossless_langgraph import LosslessSaver

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def chat(saver: Any) -> Any:
    """Give a graph that answers with a tool call and its result; ids are made up by its reducer."""

    def answer(state: Any) -> Any:
        number = len(state["messages"])
        return {
            "messages": [AIMessage(f"answer {number}", tool_calls=[{"name": "t", "args": {"n": number}, "id": f"c{number}"}])]
        }

    def tool(state: Any) -> Any:
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(f"found {call['args']['n']} " + "text " * 100, tool_call_id=call["id"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("tool", tool)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "tool")
    return graph.compile(checkpointer=saver)


def shown(engine: Engine, thread_id: str = "t", **options: Any) -> list[BaseMessage]:
    return [message for stored in engine.thread(thread_id).messages(**options) for message in decode_stored(stored)]


def same(app: Any, saver: LosslessSaver, config: Any = CONFIG) -> list[AnyMessage]:
    """Give the messages of the state, once it is sure that the thread shows just them, and that all is well."""
    messages: list[AnyMessage] = app.get_state(config).values.get("messages", [])
    thread_id = config["configurable"]["thread_id"]
    assert shown(saver.engine, thread_id) == messages
    report = saver.engine.verify()
    assert report.ok, report.problems
    return messages


def blobs(saver: LosslessSaver) -> int:
    with saver.engine.database.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM lossless_blob")).scalar() or 0)


def rows(engine: Engine, thread_id: str = "t") -> int:
    return len(engine.thread(thread_id).messages(deleted=True))


def put(saver: LosslessSaver, values: Any, where: Any = CONFIG, *, version: str = "1", id: str | None = None) -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, version)
    if id is not None:
        checkpoint["id"] = id
    return saver.put(where, checkpoint, {}, checkpoint["channel_versions"])


def test_each_message_is_stored_once_and_is_the_threads(saver: LosslessSaver) -> None:
    app = chat(saver)
    for n in range(4):
        app.invoke({"messages": [HumanMessage(f"turn {n}")]}, CONFIG)
        assert len(same(app, saver)) == 3 * (n + 1)
    engine, thread = saver.engine, saver.engine.thread("t")
    stored = thread.messages()
    assert [message.role for message in stored[:3]] == ["user", "assistant", "tool"]
    assert {message.format for message in stored} == {"langchain/1"}
    assert rows(engine) == 12
    with engine.database.read() as connection:
        held = connection.execute(text("SELECT count(DISTINCT digest) FROM lossless_message")).scalar()
        parts = connection.execute(text("SELECT size FROM lossless_checkpoint_part")).scalars().all()
    assert held == 12
    assert not [size for size in parts if size > 600], "tool results are nowhere but in blobs"
    assert [hit.message_id for hit in thread.grep("found 7")] == [stored[8].id]
    thread.snapshot("now")
    branch = thread.branch(at=stored[2].id, thread_id="branch")
    assert [message.id for message in branch.messages()] == [message.id for message in stored[:3]]
    assert [message.text for message in thread.expand(stored[0].id)] == ["turn 0"]
    other = chat(LosslessSaver(engine))
    other.invoke({"messages": [HumanMessage("another process")]}, CONFIG)
    assert len(same(other, saver)) == 15
    assert rows(engine) == 15


def test_what_is_removed_and_replaced_stays_in_the_store(saver: LosslessSaver) -> None:
    app = chat(saver)
    for n in range(3):
        app.invoke({"messages": [HumanMessage(f"turn {n}")]}, CONFIG)
    state = same(app, saver)
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=str(state[3].id))]})
    assert len(same(app, saver)) == 8
    app.update_state(CONFIG, {"messages": [AIMessage("other words", id=state[1].id)]})
    assert same(app, saver)[1].content == "other words"
    assert rows(saver.engine) == 10
    app.update_state(CONFIG, {"messages": [state[3]]})
    assert len(same(app, saver)) == 9
    kept = app.get_state(CONFIG).values["messages"][-2:]
    told = [RemoveMessage(id=REMOVE_ALL_MESSAGES), SystemMessage("what was said before", id="s"), *kept]
    app.update_state(CONFIG, {"messages": told})
    assert [message.id for message in same(app, saver)] == ["s", *(message.id for message in kept)]
    found = {message.text for message in saver.engine.thread("t").messages(deleted=True)}
    assert {"turn 0", "turn 1", "answer 1", "other words", "what was said before"} <= found
    assert [hit.snippet for hit in saver.engine.thread("t").grep("turn 0")] == ["turn 0"]
    app.update_state(CONFIG, {"messages": [*state[1:3], RemoveMessage(id="s")]})
    results = app.get_state(CONFIG).values["messages"][-2:]
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), SystemMessage("again", id="s2"), *results]})
    assert [message.type for message in same(app, saver)] == ["system", "ai", "tool"]
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    assert same(app, saver) == []
    app.invoke({"messages": [HumanMessage("from the start")]}, CONFIG)
    assert len(same(app, saver)) == 3


def test_a_fork_brings_back_what_the_thread_was(saver: LosslessSaver) -> None:
    app = chat(saver)
    for n in range(3):
        app.invoke({"messages": [HumanMessage(f"turn {n}", id=f"h{n}")]}, CONFIG)
    end = app.get_state(CONFIG)
    past = next(state for state in app.get_state_history(CONFIG) if len(state.values["messages"]) == 5)
    app.update_state(CONFIG, {"messages": [RemoveMessage(id="h0"), HumanMessage("turn 1, told otherwise", id="h1")]})
    assert [message.content for message in same(app, saver) if message.type == "human"] == ["turn 1, told otherwise", "turn 2"]
    fork = app.update_state(past.config, {"messages": [HumanMessage("another way", id="f")]})
    assert [message.id for message in same(app, saver) if message.type == "human"] == ["h0", "h1", "f"]
    app.invoke({"messages": [HumanMessage("on the fork")]}, fork)
    forked = same(app, saver)
    assert len(shown(saver.engine, deleted=True)) == 9 + 1 + 1 + 3
    app.invoke({"messages": [HumanMessage("on from the end")]}, end.config)
    assert same(app, saver)[:9] == end.values["messages"]
    assert forked[-1] in shown(saver.engine, deleted=True)
    other = chat(LosslessSaver(saver.engine))
    other.update_state(past.config, {"messages": [HumanMessage("h1 anew", id="h1")]})
    assert [message.content for message in same(other, saver) if message.type == "human"] == ["turn 0", "h1 anew"]


def test_summaries_stay_where_the_state_still_begins_like_this(url: str) -> None:
    with Engine(url, window=3_000, background=False, load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        app, thread = chat(saver), engine.thread("t")
        for n in range(10):
            app.invoke({"messages": [HumanMessage(f"turn {n}: the price of item {n} is {n}0 EUR")]}, CONFIG)
        past = app.get_state(CONFIG)
        assert thread.compact(force=True).changed
        summaries = [item.id for item in thread.context().items if item.kind == "summary"]
        app.invoke({"messages": [HumanMessage("one more")]}, CONFIG)
        assert [item.id for item in thread.context().items if item.kind == "summary"][: len(summaries)] == summaries
        assert len(same(app, saver)) == 33
        app.invoke({"messages": [HumanMessage("as if nothing had been compacted")]}, past.config)
        assert not [item for item in thread.context().items if item.kind == "summary"]
        assert len(same(app, saver)) == 33
        app.update_state(CONFIG, {"messages": [RemoveMessage(id=past.values["messages"][0].id)]})
        assert len(same(app, saver)) == 32


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize("background", [True, False])
def test_a_thread_that_follows_a_state_is_kept_within_its_budget(url: str, background: bool) -> None:
    with Engine(url, window=3_000, background=background, load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        app, thread = chat(saver), engine.thread("t")
        for n in range(20):
            app.invoke({"messages": [HumanMessage(f"turn {n}: the price of item {n} is {n}0 EUR")]}, CONFIG)
            thread.wait()
        context = thread.context()
        assert (context.status, context.items[0].kind) == ("ok", "summary")
        assert not [item for item in context.items if item.kind == "omission"]
        app.invoke({"messages": [HumanMessage("No, the price of item 3 is 31 EUR, not 30 EUR.")]}, CONFIG)
        assert [item.kind for item in thread.context().items if item.kind == "recall"] == ["recall"]
        assert len(same(app, saver)) == 63


def test_a_put_that_is_repeated_or_comes_late_changes_nothing(saver: LosslessSaver) -> None:
    one, two = HumanMessage("one", id="1"), AIMessage("two", id="2")
    first = put(saver, {"messages": [one]}, id="0001")
    second = put(saver, {"messages": [one, two]}, first, version="2", id="0002")
    for _ in range(2):
        put(saver, {"messages": [one]}, id="0001")
        put(LosslessSaver(saver.engine), {"messages": [one, two]}, first, version="2", id="0002")
    assert shown(saver.engine) == [one, two]
    put(saver, {"messages": [one, HumanMessage("older", id="3")]}, first, version="2", id="00015")
    assert shown(saver.engine) == [one, two]
    assert len(shown(saver.engine, deleted=True)) == 3
    put(saver, {"messages": [one, two, AIMessage("three")]}, second, version="3", id="0003")
    assert [message.content for message in shown(saver.engine)] == ["one", "two", "three"]
    assert saver.engine.verify().ok


def test_values_that_are_no_messages_are_left_as_they_are(saver: LosslessSaver) -> None:
    mixed = [
        HumanMessage("said", id="h"),
        ("user", "hi"),
        {"role": "user", "content": "dict"},
        "text",
        None,
        7,
        RemoveMessage(id="h"),
    ]
    for value in (mixed, tuple(mixed), HumanMessage("alone", id="a"), "text", {"k": [HumanMessage("within", id="w")]}, None):
        where = put(saver, {"messages": value, "other": [HumanMessage("elsewhere", id="e")]}, version=repr(value))
        found = saver.get_tuple(where)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == value
        kept = [one for one in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(one, HumanMessage)]
        assert shown(saver.engine) == kept
    assert saver.engine.verify().ok


def test_odd_messages_come_back_from_both_as_they_were(saver: LosslessSaver) -> None:
    class Own(HumanMessage):
        pass

    odd = [
        HumanMessage("lone \ud800 surrogate", id="h", additional_kwargs={"n": 2**100, "t": (1, 2)}),
        HumanMessage("without an id"),
        HumanMessage("without an id"),
        AIMessage("", tool_calls=[{"name": "t", "args": {"n": 1}, "id": "c"}], id="same"),
        AIMessage("its id is there already", id="same"),
        ToolMessage("r", tool_call_id="c", artifact=Own("within", id="o")),
    ]
    where = put(saver, {"messages": odd})
    where = put(saver, {"messages": [*odd, HumanMessage("more")]}, where, version="2")
    found = LosslessSaver(saver.engine).get_tuple(where)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == [*odd, HumanMessage("more")]
    assert [message.content for message in shown(saver.engine)] == [message.content for message in [*odd, HumanMessage("more")]]
    assert saver.engine.verify().ok


def test_nothing_is_captured_that_shall_not_be(saver: LosslessSaver) -> None:
    off = LosslessSaver(saver.engine, capture=())
    chat(off).invoke({"messages": [HumanMessage("not the thread's")]}, CONFIG)
    assert saver.engine.threads().items == []
    both = LosslessSaver(saver.engine, capture=["messages", "notes"])
    one, two, note = HumanMessage("one", id="1"), HumanMessage("two", id="2"), SystemMessage("a note", id="n")
    where = put(both, {"messages": [one], "notes": []}, {"configurable": {"thread_id": "b"}})
    where = put(both, {"messages": [one], "notes": [note]}, where, version="2")
    where = put(both, {"messages": [one, two], "notes": [note, one]}, where, version="3")
    assert shown(saver.engine, "b") == [one, note, two]
    where = put(both, {"messages": [two], "notes": [note, one]}, where, version="4")
    assert shown(saver.engine, "b") == [note, two, one]
    put(both, {"messages": [two], "notes": []}, where, version="5")
    assert shown(saver.engine, "b") == [two]


def test_pending_writes_share_their_bytes_and_are_not_said_yet(saver: LosslessSaver) -> None:
    one, two = HumanMessage("one", id="1"), AIMessage("two " * 100, id="2")
    first = put(saver, {"messages": [one]})
    before = blobs(saver)
    saver.put_writes(first, [("messages", [two])], "task")
    assert (blobs(saver) - before, shown(saver.engine)) == (1, [one])
    put(saver, {"messages": [one, two]}, first, version="2")
    assert (blobs(saver) - before, shown(saver.engine)) == (1, [one, two])


def test_what_comes_into_the_thread_another_way_is_left_alone(saver: LosslessSaver) -> None:
    app, thread = chat(saver), saver.engine.thread("t")
    app.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)
    thread.append({"role": "user", "content": "by hand", "id": "hand"})
    app.invoke({"messages": [HumanMessage("two", id="2")]}, CONFIG)
    app.update_state(CONFIG, {"messages": [RemoveMessage(id="1")]})
    assert [message.id for message in thread.messages() if message.role == "user"] == ["hand", "2"]
    thread.delete(["2"])
    app.update_state(CONFIG, {"messages": [HumanMessage("three", id="3")]})
    assert [message.id for message in thread.messages() if message.role == "user"] == ["hand", "2", "3"]
    saver.engine.delete_thread("t")
    app.update_state(CONFIG, {"messages": [HumanMessage("four", id="4")]})
    assert len(same(app, saver)) == 7


def test_two_savers_put_at_once(saver: LosslessSaver) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            own = LosslessSaver(saver.engine)
            where: Any = {"configurable": {"thread_id": f"t{number % 2}"}}
            messages: list[Any] = []
            for n in range(12):
                messages = [*messages, HumanMessage(f"{number} says {n}", id=f"{number}-{n}")]
                where = put(own, {"messages": messages}, where, version=str(n))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    for name in ("t0", "t1"):
        ids = [message.id for message in saver.engine.thread(name).messages(deleted=True)]
        assert len(ids) == len(set(ids)) == 24
        newest = saver.get_tuple({"configurable": {"thread_id": name}})
        assert newest is not None
        assert shown(saver.engine, name) == newest.checkpoint["channel_values"]["messages"]
    assert saver.engine.verify().ok


def test_what_is_erased_is_nowhere_and_checkpoints_show_a_placeholder(tmp_path: Any) -> None:
    with Engine(f"sqlite:///{tmp_path}/own.db", window=100_000, background=False, load_plugins=False) as engine:
        saver = LosslessSaver(engine)
        app = chat(saver)
        secret = HumanMessage("call me at 0171-5550199", id="secret")
        app.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)
        app.invoke({"messages": [secret]}, CONFIG)
        app.invoke({"messages": [HumanMessage("three", id="3")]}, CONFIG)
        where = app.get_state(CONFIG).config
        saver.put_writes(where, [("messages", [secret])], "task")
        saver.copy_thread("t", "copy")
        past = list(app.get_state_history(CONFIG))
        engine.erase("t", ["secret"])
        for state in [app.get_state(CONFIG), app.get_state({"configurable": {"thread_id": "copy"}})]:
            ids = [message.id for message in state.values["messages"]]
            assert ids.index("secret") == 3
            assert "erased" in state.values["messages"][3].content
        assert len(list(app.get_state_history(CONFIG))) == len(past)
        for maker in (saver, LosslessSaver(engine)):
            again = chat(maker)
            again.update_state(CONFIG, {"messages": [secret]})
            maker.put_writes(where, [("messages", [secret]), ("other", [secret])], "another task")
            again.invoke({"messages": [HumanMessage("four")]}, CONFIG)
            assert "erased" in same(again, maker)[3].content
        fork = app.update_state(past[-4].config, {"messages": [HumanMessage("instead")]})
        assert app.get_state(fork).values["messages"][0].content == "one"
        assert engine.thread("copy").messages()[3].text == "[this message was erased]"
        assert engine.verify().ok, engine.verify().problems
        engine.collect_garbage()
        engine.purge()
        assert len(same(app, saver)) == len(app.get_state(CONFIG).values["messages"])
    assert not [file.name for file in tmp_path.iterdir() if b"5550199" in file.read_bytes()]


@pytest.mark.parametrize("kind", ["sqlite"])
@pytest.mark.parametrize(("erased_in", "goes_on"), [("t", "root"), ("t", "sub:1"), ("t#sub:1", "sub:1")])
@pytest.mark.parametrize("fresh", [False, True], ids=["the same process", "another one"])
def test_a_state_on_its_way_brings_nothing_back_that_is_erased(
    saver: LosslessSaver, erased_in: str, goes_on: str, fresh: bool
) -> None:
    said, secret = HumanMessage("hello", id="h"), HumanMessage("call me at 0171-5550199", id="secret")
    held = {"root": [said, secret] if erased_in == "t" else [said], "sub:1": [said, secret]}
    places: Any = {"root": "", "sub:1": "sub:1"}
    for name, messages in held.items():
        where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": places[name]}}
        places[name] = put(saver, {"messages": messages}, where)
    saver.engine.erase(erased_in, ["secret"])
    later = LosslessSaver(saver.engine) if fresh else saver
    where = put(later, {"messages": [*held[goes_on], AIMessage("so", id="s")]}, places[goes_on], version="2")
    later.put_writes(where, [("messages", [secret])], "task")
    found = later.get_tuple(where)
    assert found is not None
    assert found.pending_writes
    back = [*found.checkpoint["channel_values"]["messages"], *found.pending_writes[0][2]]
    assert [message.content for message in back if message.id == "secret"] == ["[this message was erased]"] * 2
    stored = [message.text for name in ("t", "t#sub:1") for message in saver.engine.thread(name).messages(deleted=True)]
    assert not [one for one in stored if "5550199" in one]
    assert saver.engine.verify().ok


def test_garbage_is_not_what_checkpoints_refer_to(saver: LosslessSaver) -> None:
    app = chat(saver)
    app.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)
    past = app.get_state(CONFIG).config
    saver.put_writes(past, [("messages", [AIMessage("only written yet", id="w")])], "task")
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("two", id="2")]})
    saver.copy_thread("t", "copy")
    saver.delete_thread("t")
    engine = saver.engine
    engine.collect_garbage()
    copied: Any = {"configurable": {"thread_id": "copy"}}
    assert [message.id for message in same(app, saver, copied)] == ["2"]
    found = saver.get_tuple({"configurable": {**past["configurable"], "thread_id": "copy"}})
    assert found is not None
    assert found.pending_writes
    written = [one.id for _task, _name, value in found.pending_writes if isinstance(value, list) for one in value]
    assert "w" in written
    assert len(found.checkpoint["channel_values"]["messages"]) == 3
    assert [thread.id for thread in engine.threads()] == ["copy"]
    app.invoke({"messages": [HumanMessage("begun again")]}, CONFIG)
    assert len(same(app, saver)) == 3
    saver.delete_thread("copy")
    saver.delete_thread("t")
    engine.collect_garbage()
    assert (blobs(saver), engine.threads().items, engine.verify().ok) == (0, [], True)


def test_the_middleware_and_the_saver_store_each_message_once(saver: LosslessSaver) -> None:
    @tool
    def look(q: str) -> str:
        """Look something up."""
        return f"found {q}"

    class Model(GenericFakeChatModel):
        def bind_tools(self, *_tools: Any, **_options: Any) -> Any:
            return self

    def answers() -> Iterator[AIMessage]:
        for n in count():
            calls = [{"name": "look", "args": {"q": f"{n}{one}"}, "id": f"c{n}{one}"} for one in "abc"]
            yield AIMessage("", tool_calls=calls)
            yield AIMessage(f"answer {n}")

    engine = saver.engine
    middleware = LosslessMiddleware(engine, window=100_000, tools=False)
    app = create_agent(Model(messages=answers()), [look], middleware=[middleware], checkpointer=saver)

    def shows_the_state(stored: int) -> None:
        ids = sorted(str(message.id) for message in app.get_state(CONFIG).values["messages"])
        assert sorted(message.id for message in engine.thread("t").messages()) == ids
        assert rows(engine) == stored
        assert engine.verify().ok

    for n, durability in enumerate(("sync", "async", "exit"), 1):
        app.invoke({"messages": [HumanMessage(f"turn {durability}")]}, CONFIG, durability=durability)  # type: ignore[arg-type]
        shows_the_state(6 * n)
    past = next(state for state in app.get_state_history(CONFIG) if len(state.values["messages"]) == 6 and not state.next)
    app.invoke({"messages": [HumanMessage("another way")]}, past.config)
    shows_the_state(24)
    first = app.get_state(CONFIG).values["messages"][0]
    app.update_state(CONFIG, {"messages": [RemoveMessage(id=first.id)]})
    app.invoke({"messages": [HumanMessage("and on")]}, CONFIG)
    shows_the_state(30)


@pytest.mark.parametrize("kept", [None, True])
def test_private_messages_of_a_graph_within_a_graph_are_found_and_not_shown(saver: LosslessSaver, kept: bool | None) -> None:
    class Inner(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    class Outer(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    inner = StateGraph(Inner)
    inner.add_node("think", lambda _state: {"messages": [AIMessage("a private thought about walruses", id="private")]})
    inner.add_node("say", lambda _state: {"messages": [AIMessage("said aloud", id="aloud")]})
    inner.add_edge(START, "think")
    inner.add_edge("think", "say")
    within = inner.compile(checkpointer=kept)

    def ask(state: Outer) -> Any:
        return {"messages": [within.invoke({"messages": state["messages"]})["messages"][-1]]}

    outer = StateGraph(Outer)
    outer.add_node("ask", ask)
    outer.add_edge(START, "ask")
    app = outer.compile(checkpointer=saver)
    app.invoke({"messages": [HumanMessage("tell me about walruses", id="h")]}, CONFIG, durability="sync")
    assert [message.id for message in same(app, saver)] == ["h", "aloud"]
    engine = saver.engine
    hits = engine.thread("t").grep("walruses").items
    assert {hit.message_id for hit in hits} == {"h", "private"}
    (part,) = {hit.thread_id for hit in hits} - {"t"}
    assert "private" in [message.id for message in engine.thread(part).messages()]
    assert [hit.thread_id for hit in engine.thread("t").grep("said aloud")] == ["t"]
    assert [thread.id for thread in engine.threads()] == ["t"]
    engine.erase("t", ["aloud"], purge=False)
    assert "said aloud" not in [message.text for name in ("t", part) for message in engine.thread(name).messages(deleted=True)]
    report = engine.verify()
    assert report.ok, report.problems
    saver.delete_thread("t")
    assert engine.grep("walruses").items == []
    assert engine.verify().ok


def test_a_graph_leaves_a_deleted_thread_alone_that_is_no_part_of_it(saver: LosslessSaver) -> None:
    engine = saver.engine
    part: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}
    engine.thread("t#inner").append({"role": "user", "content": "somebody's own"})
    engine.delete_thread("t#inner")
    put(saver, {"messages": [AIMessage("private", id="p")]}, part)
    assert list(engine.threads()) == []
    assert engine.grep("private").items == []
    assert saver.get_tuple(part) is not None
    assert engine.verify().ok


def test_erasing_leaves_what_holds_the_same_message_in_a_channel_that_is_not_captured(saver: LosslessSaver) -> None:
    message = HumanMessage("my number is 0199", id="a")
    put(saver, {"messages": [message], "last": message})
    saver.engine.erase("t", ["a"], purge=False)
    found = saver.get_tuple(CONFIG)
    assert found is not None
    (left,) = found.checkpoint["channel_values"]["messages"]
    assert left.content == "[this message was erased]"
    assert found.checkpoint["channel_values"]["last"] == message


def test_checkpoints_alone_are_backed_up_and_not_restored_over(saver: LosslessSaver, tmp_path: Any) -> None:
    alone = LosslessSaver(saver.engine, capture=())
    where = put(alone, {"messages": [HumanMessage("hello", id="a")]})
    saver.engine.backup(tmp_path / "backup.db")
    with pytest.raises(ExistsError, match="not empty"):
        saver.engine.restore_backup(tmp_path / "backup.db")
    with Engine(f"sqlite:///{tmp_path / 'new.db'}", load_plugins=False) as other:
        assert other.restore_backup(tmp_path / "backup.db").ok
        assert LosslessSaver(other, capture=()).get_tuple(where) == alone.get_tuple(where)


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_what_is_taken_out_of_a_delta_channel_leaves_the_view(saver: LosslessSaver) -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=100)]

    graph = StateGraph(State)
    graph.add_node("change", lambda _state: {})
    graph.add_edge(START, "change")
    app = graph.compile(checkpointer=saver)

    def write(change: Any) -> list[str | None]:
        app.update_state(CONFIG, {"messages": change}, as_node="change")
        return [message.id for message in same(app, saver)]

    assert write([HumanMessage("one " * 50, id=id) for id in "abcd"]) == ["a", "b", "c", "d"]
    assert write(RemoveMessage(id="b")) == ["a", "c", "d"]
    past = app.get_state(CONFIG).config
    assert write([HumanMessage("five", id="e"), RemoveMessage(id="e"), RemoveMessage(id="unknown")]) == ["a", "c", "d"]
    kept = app.get_state(CONFIG).values["messages"][1:]
    told = [HumanMessage("lost", id="l"), RemoveMessage(id=REMOVE_ALL_MESSAGES), SystemMessage("short", id="s"), *kept]
    assert write(told) == ["s", "c", "d"]
    assert write(Overwrite([HumanMessage("afresh", id="f"), kept[0]])) == ["f", "c"]
    saver.engine.thread("t").append({"role": "user", "content": "by hand", "id": "hand"})
    app.update_state(CONFIG, {"messages": [AIMessage("six", id="g")]}, as_node="change")
    app.update_state(CONFIG, {"messages": Overwrite([AIMessage("seven", id="i")])}, as_node="change")
    assert [message.id for message in saver.engine.thread("t").messages()] == ["hand", "i"]
    app.update_state(past, {"messages": [RemoveMessage(id="a"), AIMessage("another way", id="h")]}, as_node="change")
    assert [message.id for message in same(app, saver)] == ["c", "d", "h"]
    assert {"a", "b", "s", "f", "g"} <= {message.id for message in saver.engine.thread("t").messages(deleted=True)}


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_what_is_written_to_a_delta_channel_is_the_threads(saver: LosslessSaver) -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer, snapshot_frequency=5)]

    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"messages": [AIMessage("noted", id=f"a{len(state['messages'])}")]})
    graph.add_edge(START, "answer")
    app = graph.compile(checkpointer=saver)
    for n in range(6):
        app.invoke({"messages": [HumanMessage(f"turn {n}", id=f"h{n}")]}, CONFIG)
        if n in (0, 5):
            same(app, saver)
    assert rows(saver.engine) == 12
    past = next(state for state in app.get_state_history(CONFIG) if len(state.values["messages"]) == 4 and not state.next)
    app.invoke({"messages": [HumanMessage("another way", id="f")]}, past.config)
    assert len(same(app, saver)) == 6
