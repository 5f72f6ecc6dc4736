"""Codec langchain/1: every message comes back equal, and what can't be read is shown instead."""

from __future__ import annotations

import copy
import math
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from pydantic import BaseModel, field_validator

from lossless import Engine
from lossless.errors import MessageError
from lossless.messages import decode, encode
from lossless_langchain.codec import (
    FORMAT,
    RawPayload,
    UnknownObject,
    decode_message,
    decode_stored,
    encode_message,
    pack,
    unpack,
)
from lossless_langchain_cases import CASES, Report, TicketMessage, same
from lossless_prepared import prepared


def again(message: BaseMessage) -> BaseMessage:
    return decode_message(decode(encode(encode_message(message))))


@pytest.mark.parametrize("case", CASES)
def test_a_message_comes_back_equal(case: str) -> None:
    before = copy.deepcopy(CASES[case])
    found = again(CASES[case])
    assert same(found, CASES[case])
    assert same(CASES[case], before), "encoding changed the message"


def test_every_message_comes_back_equal_after_reopening(url: str) -> None:
    kept = [message for message in CASES.values() if message.id is None]
    with Engine(url) as engine:
        engine.thread("t").append([encode_message(message) for message in kept], format=FORMAT)
    with Engine(url) as engine:
        stored = engine.thread("t").messages()
        assert engine.verify().ok
    found = [message for one in stored for message in decode_stored(one)]
    assert len(found) == len(kept)
    assert all(same(a, b) for a, b in zip(found, kept, strict=True))
    assert [message.id for message in found] == [None] * len(kept)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.datetimes()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.just(Report(title="x")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.just("$object") | st.just("$lossless"), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=75, deadline=None)
@given(VALUES, VALUES)
def test_any_value_anywhere_in_a_message_comes_back_equal(artifact: Any, extra: Any) -> None:
    message = ToolMessage("x", tool_call_id="c", artifact=artifact, additional_kwargs={"k": extra}, own=extra)  # type: ignore[call-arg]
    assert same(again(message), message)


def test_local_classes_come_back_as_themselves() -> None:
    class Local(BaseModel):
        value: int

    @dataclass
    class Other:
        value: Any

    message = ToolMessage("x", tool_call_id="c", artifact=[Local(value=1), Other(Local(value=2))])
    assert same(again(message), message)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="pydantic 1 does not work there")
def test_objects_of_pydantic_1_come_back_as_themselves() -> None:
    from pydantic import v1

    ran: list[str] = []

    class Row(v1.BaseModel):
        cells: Any = ()
        note: str = "none"

    class Table(v1.BaseModel):
        rows: list[Any]
        _hidden: int = v1.PrivateAttr(default=0)

        @v1.validator("rows")
        def check(cls, value: Any) -> Any:
            ran.append("validator")
            return value

    table = Table(rows=[Row(cells=(1, b"x", {2: math.inf}))])
    table._hidden = 7
    payload = encode(encode_message(ToolMessage("x", tool_call_id="c", artifact=table)))
    ran.clear()
    found = decode_message(decode(payload))
    assert isinstance(found, ToolMessage)
    assert (type(found.artifact), found.artifact, found.artifact._hidden) == (Table, table, 7)
    assert type(found.artifact.rows[0]) is Row
    assert found.artifact.rows[0].cells == (1, b"x", {2: math.inf})
    assert found.artifact.rows[0].__fields_set__ == {"cells"}
    assert ran == []
    gone = decode_message(decode(payload.replace(b"Table", b"Tible")))
    assert isinstance(gone, ToolMessage)
    assert isinstance(gone.artifact, UnknownObject)


def test_no_code_of_a_class_runs_when_an_object_is_read() -> None:
    ran: list[str] = []

    class Watched(BaseModel):
        value: int

        def __init__(self, **data: Any) -> None:
            ran.append("init")
            super().__init__(**data)

        @field_validator("value")
        @classmethod
        def check(cls, value: int) -> int:
            ran.append("validator")
            return value

        def model_post_init(self, context: Any) -> None:
            ran.append("post init")

    payload = encode_message(ToolMessage("x", tool_call_id="c", artifact=Watched(value=1)))
    ran.clear()
    found = decode_message(decode(encode(payload)))
    assert isinstance(found, ToolMessage)
    assert type(found.artifact) is Watched
    assert found.artifact.value == 1
    assert ran == []


@pytest.mark.parametrize("kind", ["pydantic", "pydantic1", "dataclass", "enum", "message", "parrot"])
@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "os:system", "builtins:eval", "langchain_core.load:loads", "nowhere.at_all:X", "", "a:b:c"]
)
def test_what_is_no_plain_holder_of_fields_is_never_made(kind: str, name: str) -> None:
    tagged = {"$object": kind, "class": name, "data": {"args": ["echo"]}, "name": "x"}
    found = decode_message({"type": "tool", "data": {"content": "x", "tool_call_id": "c", "artifact": dict(tagged)}})
    assert isinstance(found, ToolMessage)
    assert isinstance(found.artifact, (UnknownObject, ChatMessage))
    message = decode_message({"type": "human", "class": name, "base": "human", "data": {"content": "hi"}})
    assert (type(message), message.content) == (HumanMessage, "hi")


def test_no_module_is_imported_to_read_a_payload() -> None:
    name = "wave"
    sys.modules.pop(name, None)
    decode_message({"type": "human", "class": f"{name}:Wave_read", "data": {"content": "hi"}})
    assert name not in sys.modules


def test_a_class_that_is_not_loaded_reads_as_a_placeholder_and_is_stored_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text(
        "from langchain_core.messages import HumanMessage\n"
        "from pydantic import BaseModel\n"
        "class Gone(HumanMessage):\n    ticket: int = 0\n"
        "class Held(BaseModel):\n    n: int\n"
    )
    code = (
        "import gone\nfrom lossless.messages import encode\nfrom lossless_langchain.codec import encode_message\n"
        "m = gone.Gone('hi', ticket=7, id='g', artifact=gone.Held(n=1))\nprint(encode(encode_message(m)).hex())"
    )
    stored = bytes.fromhex(prepared().run(code, folder=tmp_path).out.strip())
    found = decode_message(decode(stored))
    assert (type(found), found.content, found.id) == (HumanMessage, "hi", "g")
    assert found.payload["data"]["ticket"] == 7  # type: ignore[attr-defined]
    assert type(found.payload) is RawPayload  # type: ignore[attr-defined]
    assert encode(encode_message(found)) == stored


@pytest.mark.parametrize(
    "payload",
    [
        None,
        7,
        "text",
        [],
        {},
        {"type": "parrot", "data": {"content": "hello", "feathers": 2}},
        {"type": "human"},
        {"type": "human", "data": None},
        {"type": "human", "data": {"content": 7}},
        {"type": "human", "data": {"content": [7, None]}},
        {"type": None, "data": {"content": "x"}},
        {"type": "ai", "class": 7, "data": {"content": "x", "tool_calls": [7]}},
        {"type": "tool", "data": {}},
        {"type": "ai", "data": {"content": None}},
    ],
    ids=repr,
)
def test_a_damaged_payload_is_shown_and_never_raises(payload: Any) -> None:
    found = decode_message(copy.deepcopy(payload))
    assert isinstance(found, BaseMessage)
    assert isinstance(found.content, (str, list))
    assert found.pretty_repr()


def test_an_unknown_type_is_readable_and_holds_its_raw_fields() -> None:
    found = decode_message({"type": "parrot", "data": {"content": "hello", "feathers": 2}})
    assert (found.content, found.payload["data"]["feathers"]) == ("hello", 2)  # type: ignore[attr-defined]


def test_what_can_not_be_kept_is_described_and_its_message_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    with socket.socket() as open_socket:
        message = ToolMessage("42", tool_call_id="c", artifact={"socket": open_socket, "loop": loop, "fine": (1,)})
        found = again(message)
        assert isinstance(found, ToolMessage)
        assert (found.content, found.artifact["fine"]) == ("42", (1,))
        assert isinstance(found.artifact["socket"], UnknownObject)
        assert found.artifact["socket"].class_name == "socket:socket"
        assert same(again(found), found)
        assert "socket" in caplog.text
        with pytest.raises(MessageError, match="'artifact' → 'socket' → a socket:socket"):
            encode_message(message, strict=True)


def test_a_bad_message_does_not_take_its_batch_along(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    batch = [HumanMessage("one"), ToolMessage("two", tool_call_id="c", artifact=deep), AIMessage("three", id="x\0y")]
    with Engine(f"sqlite:///{tmp_path / 'a.db'}") as engine:
        engine.thread("t").append([encode_message(message) for message in batch], format=FORMAT)
        found = [message for one in engine.thread("t").messages() for message in decode_stored(one)]
    assert [message.content for message in found] == ["one", "two", "three"]
    assert found[2].id == "x\0y"


def test_the_dicts_of_langchain_itself_can_be_read() -> None:
    given = [HumanMessage("hi", id="a"), AIMessage("yo", tool_calls=[{"name": "f", "args": {}, "id": "c"}])]
    found = [decode_message(payload) for payload in messages_to_dict(given)]
    assert found == given == messages_from_dict(messages_to_dict(given))


def test_values_alone_can_be_packed() -> None:
    value = {"$object": "x", "r": Report(title="a"), "n": [math.inf, (b"x",)]}
    assert unpack(decode(encode(pack(value)))) == value
    assert unpack(pack([TicketMessage("x", ticket=2)])) == [TicketMessage("x", ticket=2)]


def test_a_message_that_a_checkpointer_gave_back_has_the_same_payload() -> None:
    for message in (HumanMessage("hi", id="h1"), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}]), CASES["chat"]):
        every_field_set = type(message)(**message.model_dump())
        assert every_field_set.model_fields_set > message.model_fields_set
        assert encode_message(every_field_set) == encode_message(message)


def test_a_message_is_found_by_its_id_and_a_removal_is_not_taken_for_it(tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'a.db'}") as engine:
        thread = engine.thread("t")
        thread.append([encode_message(HumanMessage("hi", id="h1")), encode_message(CASES["remove"])], format=FORMAT)
        assert [message.role for message in thread.messages()] == ["user", "system"]
        thread.append(encode_message(HumanMessage("hi", id="h1")), format=FORMAT)
        assert len(thread.messages()) == 2
        thread.append(encode_message(HumanMessage("hi, all", id="h1")), format=FORMAT)
        assert [message.text for message in thread.messages()] == ["hi, all", ""]
