"""History: many checkpoints are read with little work, and nobody sees what another one changes in them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from lossless_langgraph import LosslessSaver
from lossless_langgraph_putting import config, put


class Mine(HumanMessage):
    """A message of a class that LangChain does not know."""


def varied() -> list[Any]:
    """Messages with something inside that can be changed."""
    return [
        HumanMessage("text " * 40, id="h"),
        AIMessage(
            [{"type": "text", "text": "parts " * 20}],
            id="a",
            tool_calls=[{"name": "t", "args": {"deep": [1, {"k": "v"}]}, "id": "c"}],
            response_metadata={"x": [1]},
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ToolMessage("result " * 20, tool_call_id="c", artifact={"rows": [[1, 2], (3, [4])]}),
        ToolMessage("object " * 20, tool_call_id="c", artifact={"set": {1, 2}}),
        HumanMessage("more " * 20, extra_field=["of mine"]),
    ]


def test_states_share_the_reading_but_nothing_that_can_be_changed(saver: LosslessSaver) -> None:
    where, given = None, varied()
    for n in range(5):
        where = put(saver, {"messages": [*given, *given], "files": {"a": "x" * 200}, "n": n}, where)
    found = [one.checkpoint["channel_values"] for one in saver.list(config())]
    for state in found:
        assert state["messages"] == [*given, *given]
        assert [one.__dict__ for one in state["messages"]] == [one.__dict__ for one in [*given, *given]]
        assert [one.model_fields_set for one in state["messages"]] == [one.model_fields_set for one in [*given, *given]]
    for state in (found[0], found[3]):
        for message in state["messages"][:5]:
            message.content = "changed"
            message.id = "changed"
            message.additional_kwargs["changed"] = True
            message.response_metadata.setdefault("x", []).append("changed")
        state["messages"][1].tool_calls[0]["args"]["deep"][1]["k"] = "changed"
        state["messages"][2].artifact["rows"][1][1].append("changed")
        state["messages"][3].artifact["set"].add("changed")
        state["messages"][4].extra_field.append("changed")
        assert state["messages"][5:] == given
    for n in (1, 2, 4):
        assert found[n]["messages"] == [*given, *given]
        assert found[n]["messages"][2].artifact == {"rows": [[1, 2], (3, [4])]}


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_delta_channels_are_made_of_what_the_default_way_finds(saver: LosslessSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    def extend(found: list[Any], given: list[list[Any]]) -> list[Any]:
        return [*(found or []), *(one for some in given for one in some)]

    class Log(TypedDict):
        log: Any
        other: Any

    for name in ("log", "other"):
        Log.__annotations__[name] = Annotated[list, DeltaChannel(extend, snapshot_frequency=7)]
    graph = StateGraph(Log)
    graph.add_node(
        "work", lambda state: {"log": [f"{len(state['log'])} " + "x" * 99], "other": [1] if len(state["log"]) % 3 else []}
    )
    graph.add_edge(START, "work")
    app = graph.compile(checkpointer=saver)
    for n in range(9):
        app.invoke({"log": [HumanMessage(f"given {n} " * 20, id=f"m{n}")]}, config())
    saver.copy_thread("t", "copy")
    app.invoke({"log": ["elsewhere"]}, [*app.get_state_history(config("copy"))][9].config)
    places = [one.config for one in saver.list(None)]
    assert len(places) > 50
    for where in [*places[::4], config("copy"), config("absent"), config(checkpoint_id="absent")]:
        asked: Any = {"config": where, "channels": ["log", "other", "absent"]}
        assert saver.get_delta_channel_history(**asked) == BaseCheckpointSaver.get_delta_channel_history(saver, **asked)
    assert asyncio.run(saver.aget_delta_channel_history(config=config(), channels=["log"]))["log"]["writes"]
    monkeypatch.setattr(saver, "get_tuple", None)
    assert saver.get_delta_channel_history(config=config(), channels=["log"])["log"]["writes"]


def test_a_part_is_loaded_once_for_all_states_of_a_list(saver: LosslessSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    where = None
    messages = [HumanMessage("text " * 40, id=f"m{n}") for n in range(200)]
    for n in range(190, 200):
        where = put(saver, {"messages": messages[:n]}, where)
    loaded, get = [], saver._store.get

    def counted(*given: Any) -> Any:
        found = get(*given)
        assert found is not None
        loaded.append(len(found.parts))
        return found

    monkeypatch.setattr(saver._store, "get", counted)
    assert len(list(saver.list(config(), limit=10))) == 10
    assert loaded[0] >= 199
    assert max(loaded[1:]) <= 2
