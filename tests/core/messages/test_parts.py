"""Parts: compared by what they say, read by people, searched whole."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from lossless.messages import Call, Media, Message, Opaque, Reasoning, Result, Text, encode, readable, searchable

PARTS = (
    Reasoning("She wants the early train."),
    Text("I look it up."),
    Call("c1", "trains", '{"to": "Bergen"}'),
    Result("c1", (Text("06:25"), Media("image", "image/png", "AAAA"), Opaque({"type": "map", "zoom": 3})), name="trains"),
    Media("document", "application/pdf", None, "https://example.org/timetable.pdf"),
    Opaque({"type": "new_kind", "words": "Fløibanen"}),
)


def test_people_read_texts_and_answers_only() -> None:
    assert readable(PARTS) == "I look it up.\n06:25"


WORDS = ["early train", "look it up", "trains", "Bergen", "c1", "06:25", "zoom", "timetable.pdf", "application/pdf", "Fløibanen"]


@pytest.mark.parametrize("word", WORDS)
def test_everything_but_binary_data_can_be_searched(word: str) -> None:
    assert word in searchable(PARTS)


def test_base64_is_not_searched() -> None:
    assert "AAAA" not in searchable(PARTS)


def test_where_a_part_was_read_from_does_not_count_in_comparisons() -> None:
    assert Text("a", ("openai/1", {"type": "text"})) == Text("a")
    assert "block" not in repr(Text("a", ("openai/1", {"type": "text"})))


def test_an_opaque_block_of_any_value_has_a_text() -> None:
    for value in ({"d": Decimal("1.5"), "t": datetime(2024, 1, 1, tzinfo=UTC), "b": b"x"}, {(1, 2): {3}}, 10**5000, float("nan")):
        assert Opaque(value).text


def test_the_text_of_a_result_is_its_texts_a_line_each() -> None:
    assert Result("c", (Text("a"), Media("image"), Text("b"))).text == "a\nb"


def test_a_message_gives_its_payload_fresh_and_its_text() -> None:
    payload = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    message = Message(
        id="m_1",
        seq=1,
        thread_id="t",
        role="user",
        format="openai/1",
        data=encode(payload),
        parts=(Text("hello"),),
        tokens=5,
        exact=True,
        created_at=datetime(2024, 1, 1, tzinfo=UTC),
    )
    message.payload["content"].clear()
    assert message.payload == payload
    assert message.text == "hello"
