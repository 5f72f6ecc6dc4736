"""Codec llamaindex/1: every message comes back equal, and what can't be read is shown instead."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    VideoBlock,
)

from lossless import Engine
from lossless.messages import LlamaIndexFormat, decode, encode
from lossless.messages.parts import Call, Media, Reasoning, Result, Text
from lossless_llamaindex import LosslessAsyncChatStore, LosslessChatStore, LosslessMemory
from lossless_llamaindex.codec import FORMAT, UnknownBlock, UnknownMessage, decode_message, decode_stored, encode_message
from lossless_llamaindex_cases import CASES, PNG, NoteMessage, same

READER = LlamaIndexFormat()


def again(message: ChatMessage, **options: Any) -> ChatMessage:
    return decode_message(decode(encode(encode_message(message))), **options)


@pytest.mark.parametrize("case", CASES)
def test_a_message_comes_back_equal(case: str) -> None:
    if "in a buffer" not in case:
        before = copy.deepcopy(CASES[case])
    found = again(CASES[case])
    assert same(found, CASES[case])
    assert found.model_fields_set == CASES[case].model_fields_set
    if "in a buffer" not in case:
        assert same(CASES[case], before), "encoding changed the message"


@pytest.mark.parametrize("case", CASES)
def test_what_pydantic_says_of_a_message_is_the_same_afterwards(case: str) -> None:
    if case in ("odd text", "a document in a buffer", "odd values beside"):
        pytest.skip("pydantic itself can't write this message as JSON")
    assert again(CASES[case]).model_dump_json() == CASES[case].model_dump_json()


def test_every_message_comes_back_equal_after_reopening(url: str) -> None:
    kept = list(CASES.values())
    with Engine(url) as engine:
        engine.thread("t").append([encode_message(message) for message in kept], format=FORMAT)
    with Engine(url) as engine:
        stored = engine.thread("t").messages()
        assert engine.verify().ok
    found = [message for one in stored for message in decode_stored(one)]
    assert len(found) == len(kept)
    assert all(same(a, b) for a, b in zip(found, kept, strict=True))


def test_of_an_erased_message_a_placeholder_of_its_role_is_left(url: str) -> None:
    kept = list(CASES.values())
    with Engine(url) as engine:
        memory = LosslessMemory(engine, session_id="s", token_limit=50_000)
        memory.put_messages([*kept, ChatMessage(content="Go on.")])
        before = engine.thread("s").messages()
        engine.erase("s", [message.id for message in before[:-1]], reason="asked for")
        after = [decode_stored(message) for message in engine.thread("s").messages()]
        for stored, found in zip(before[:-1], after, strict=False):
            assert {message.role.value for message in found} <= {stored.role, "function"}
            assert len(found) == max(1, sum(isinstance(part, Result) for part in stored.parts))
            calls = [block for message in found for block in message.blocks if isinstance(block, ToolCallBlock)]
            assert [call.tool_call_id for call in calls] == [part.id for part in stored.parts if isinstance(part, Call)]
            assert all("was erased]" in (message.content or "") or calls for message in found)
            assert all(same(again(message), message) for message in found)
        assert memory.get_all() == [message for each in after for message in each]
        shown = memory.get()
        assert shown[-1].content == "Go on."
        assert {"user", "assistant", "system"} <= {message.role.value for message in shown}
        assert engine.verify().ok


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.just("$object"), inner),
    max_leaves=15,
)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_any_value_beside_the_blocks_comes_back_equal(value: Any) -> None:
    message = ChatMessage(content="x", additional_kwargs={"k": value})
    assert same(again(message), message)


def test_the_file_of_a_path_is_kept_and_given_back_when_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    message = ChatMessage(blocks=[TextBlock(text="see"), ImageBlock(path=path, detail="high")])
    payload = decode(encode(encode_message(message)))
    assert payload["blocks"][1]["file"]["data"] == PNG
    assert same(decode_message(copy.deepcopy(payload), restore=True), message)
    path.unlink()
    assert same(decode_message(copy.deepcopy(payload)), message)
    block = decode_message(payload, restore=True).blocks[1]
    assert isinstance(block, ImageBlock)
    assert (block.resolve_image().read(), block.path, block.detail) == (PNG, None, "high")


FILED: dict[str, tuple[Any, str]] = {
    "image": (ImageBlock, "resolve_image"),
    "audio": (AudioBlock, "resolve_audio"),
    "video": (VideoBlock, "resolve_video"),
    "document": (DocumentBlock, "resolve_document"),
}


@pytest.mark.parametrize("kind", list(FILED))
def test_whoever_shows_a_message_shows_what_was_kept_of_a_file_that_is_gone(tmp_path: Path, kind: str) -> None:
    cls, resolve = FILED[kind]
    path = tmp_path / "a.bin"
    path.write_bytes(PNG)
    message = ChatMessage(blocks=[TextBlock(text="see"), cls(path=path)])
    with Engine("sqlite://", background=False) as engine, Engine("sqlite://", window=4_000, background=False) as bounded:
        memory = LosslessMemory(engine, session_id="s", token_limit=4_000)
        memory.put(message)
        LosslessChatStore(bounded).add_message("s", message)
        queue = LosslessAsyncChatStore(engine)
        assert memory.get() == memory.get_all() == [message], "while it is there its path stays"
        path.unlink()

        async def queued() -> list[ChatMessage]:
            await queue.archive_oldest_messages("s", 1)
            return await queue.get_messages("s", status=None)

        stores = [
            LosslessChatStore(engine).get_messages("s"),
            LosslessChatStore(bounded).get_messages("s"),
            asyncio.run(queued()),
        ]
        for (shown,) in (memory.get(), memory.prompt(), memory.get_all(), *stores):
            assert getattr(shown.blocks[1], resolve)().read() == PNG
        (stored,) = engine.thread("s").messages()
        assert stored.payload["blocks"][1]["file"]["data"] == PNG, "archiving kept what was stored"
        assert str(path) in str(stored.payload["blocks"][1]["path"])


def test_a_file_that_may_no_longer_be_looked_for_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    payload = encode_message(ChatMessage(blocks=[ImageBlock(path=path)]))

    def denied(self: Path, **_options: Any) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", denied)
    block = decode_message(payload, restore=True).blocks[0]
    assert isinstance(block, ImageBlock)
    assert (block.resolve_image().read(), block.path) == (PNG, None)


def test_a_missing_file_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    message = ChatMessage(blocks=[ImageBlock(path=path)])
    path.unlink()
    assert same(again(message), message)


def test_a_class_that_is_not_loaded_reads_as_a_placeholder_and_is_stored_as_it_was() -> None:
    payload = encode_message(CASES["a class of one's own"]) | {"class": "nowhere:NoteMessage"}
    found = decode_message(copy.deepcopy(payload))
    assert isinstance(found, UnknownMessage)
    assert found.content == "x"
    assert found.payload["fields"] == payload["fields"]
    assert encode_message(found) == payload
    assert isinstance(again(NoteMessage(priority=2)), NoteMessage)


def test_a_block_of_the_future_is_readable_and_leaves_the_others_alone() -> None:
    payload = encode_message(ChatMessage(content="x"))
    payload["blocks"].append({"block_type": "hologram", "depth": 3})
    found = decode_message(copy.deepcopy(payload))
    assert found.blocks[0] == TextBlock(text="x")
    assert isinstance(found.blocks[1], UnknownBlock)
    assert "hologram" in found.blocks[1].text
    assert encode_message(found) == payload


DAMAGED: list[Any] = [
    {},
    [],
    None,
    "text",
    {"role": "parrot", "blocks": []},
    {"role": "user", "blocks": 7},
    {"role": "user", "blocks": [7, None, {}, {"block_type": ["x"]}, {"block_type": "image", "class": "os:system"}]},
    {"role": "user", "blocks": [], "class": "subprocess:Popen", "fields": {"args": ["true"]}},
    {"role": "user", "blocks": [], "additional_kwargs": {"x": {"$object": "pydantic", "class": "subprocess:Popen", "data": {}}}},
]


@pytest.mark.parametrize("payload", DAMAGED, ids=repr)
def test_a_damaged_payload_is_shown_and_never_raises(payload: Any) -> None:
    found = decode_message(copy.deepcopy(payload))
    assert isinstance(found, ChatMessage)
    assert all(isinstance(block, (TextBlock, ImageBlock)) for block in found.blocks)


def test_parts_are_read_without_the_framework() -> None:
    def read(case: str) -> tuple[Any, ...]:
        return READER.read(decode(encode(encode_message(CASES[case]))))

    assert read("two texts") == (Text("a"), Text("b"))
    assert read("thinking") == (Reasoning("hm", signed=True), Text("so"))
    assert read("a call")[1] == Call("call_1", "read", '{"path": "a.py", "n": {"x": 1.0}}')
    assert read("a call in words") == (Call("call_1", "read", '{"path": '),)
    assert read("calls beside the blocks") == (Call("call_9", "f", '{"a": 1}'),)
    assert read("a result") == (Result("call_1", (Text("42"),), name="read"),)
    assert read("a cache point") == (Text("a"),)
    assert read("a citation") == (Text("T s\nsaid"),)
    (_, image) = read("an image")
    assert isinstance(image, Media)
    assert (image.kind, image.mime, bool(image.data)) == ("image", "image/png", True)
    assert READER.role(encode_message(CASES["role chatbot"])) == "assistant"


def test_other_formats_are_given_as_llamaindex_messages() -> None:
    with Engine("sqlite://") as engine:
        thread = engine.thread("t")
        thread.append(
            [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "done"},
            ]
        )
        found = [message for one in thread.messages() for message in decode_stored(one)]
    assert found[0] == ChatMessage(role="user", content="go")
    assert found[1].blocks == [ToolCallBlock(tool_call_id="c", tool_name="f", tool_kwargs={"a": 1})]
    assert (found[2].role, found[2].content, found[2].additional_kwargs["tool_call_id"]) == ("tool", "done", "c")
