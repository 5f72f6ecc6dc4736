"""Images and documents cost what their provider says, by the size that stands in their data."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless import Engine
from lossless.messages.dimensions import image_size, pdf_pages
from lossless.messages.parts import Media
from lossless.tokens import count_media, counter_for, is_measured, rates_for


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0" + bytes(40)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def jpeg(width: int, height: int, before: int = 3) -> bytes:
    segments = b"".join(b"\xff\xe1" + struct.pack(">H", 65_535) + bytes(65_533) for _ in range(before))
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(12)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\0" + bytes(9) + segments + b"\xff\xff\xff\xc4\x00\x04\0\0" + frame


def webp(kind: bytes, width: int, height: int) -> bytes:
    match kind:
        case b"VP8 ":
            body = b"\x10\x02\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
        case b"VP8L":
            body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            body = b"\x10\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + bytes(20)


IMAGES = {
    "png": png,
    "gif": gif,
    "jpeg": jpeg,
    "webp lossy": lambda w, h: webp(b"VP8 ", w, h),
    "webp lossless": lambda w, h: webp(b"VP8L", w, h),
    "webp extended": lambda w, h: webp(b"VP8X", w, h),
}


def image(data: bytes, detail: str | None = None) -> Media:
    return Media("image", None, base64.b64encode(data).decode(), detail=detail)


def pdf(pages: int, packed: bool) -> bytes:
    objects = b"<</Type/Pages/Kids[]>>" + b"<< /Type /Page /Parent 1 0 R >> " * pages
    if not packed:
        return b"%PDF-1.4\n" + objects
    return b"%PDF-1.5\n5 0 obj<</Type /ObjStm/N 9/Filter/FlateDecode>>stream\r\n" + zlib.compress(objects) + b"\nendstream"


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("size", [(1, 1), (960, 540), (16_000, 3)])
def test_the_size_of_an_image_is_read_from_its_first_bytes(kind: str, size: tuple[int, int]) -> None:
    data = IMAGES[kind](*size)
    assert image_size(image(data)) == size
    lines = base64.encodebytes(data).decode()
    assert image_size(Media("image", "image/png", lines)) == size, "broken into lines, as in mail"
    assert image_size(image(data[:8])) is None


@given(st.sampled_from([*(make(800, 600) for make in IMAGES.values()), pdf(2, False), pdf(2, True), b""]), st.data())
def test_no_data_makes_reading_raise_or_take_long(data: bytes, draw: st.DataObject) -> None:
    broken = bytearray(data[: draw.draw(st.integers(0, len(data)))])
    for place in draw.draw(st.lists(st.integers(0, 60), max_size=6)):
        if place < len(broken):
            broken[place] = draw.draw(st.integers(0, 255))
    text = base64.b64encode(bytes(broken)).decode() + draw.draw(st.sampled_from(["", "=", "é", "!\0", "A"]))
    for media in (Media("image", data=text), Media("document", data=text)):
        size, pages = image_size(media), pdf_pages(media)
        assert size is None or min(size) > 0
        assert pages is None or pages > 0
        assert 0 < count_media(media, counter_for("gpt-4o")) < 100_000


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # OpenAI's examples of tiles, then of patches: 1 800 x 2 400 is documented as 1 452, and billed up to 1 536.
        ("gpt-4o", (1_024, 1_024), "high", 765),
        ("gpt-4o", (2_048, 4_096), "high", 1_105),
        ("gpt-4o", (4_096, 8_192), "low", 85),
        ("gpt-4o-mini", (1_024, 1_024), "low", 2_833),
        ("gpt-4o-mini-2024-07-18", (128, 64), None, 8_500),
        ("o3", (128, 64), "high", 225),
        ("gpt-5", (1_024, 1_024), "auto", 630),
        ("gpt-4.1-nano", (1_024, 1_024), None, 2_520),
        ("openai/gpt-4.1-mini", (4_000, 1_474), "low", 2_489),
        ("o4-mini", (128, 64), "low", 14),
        ("gpt-5.2", (1_800, 2_400), None, 1_844),
        ("gpt-5.4", (3_200, 3_200), "original", 12_000),
        ("gpt-5.4", (3_200, 3_200), None, 3_000),
        ("gpt-5.4", (3_200, 3_200), "low", 308),
        # Anthropic's table, and its later rule of patches where it is dearer.
        ("claude-sonnet-4-5-20250929", (200, 200), None, 64),
        ("claude-3-7-sonnet-latest", (1_000, 1_000), None, 1_334),
        ("claude-opus-4", (1_092, 1_092), None, 1_590),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", (8_000, 8_000), None, 1_600),
        ("claude-opus-4-7", (1_568, 1_568), None, 3_279),
        ("claude-opus-5", (8_000, 8_000), None, 4_784),
        # Google's examples, and what is beyond one tile.
        ("gemini-2.5-pro", (384, 384), None, 258),
        ("gemini-2.5-flash", (960, 540), None, 6 * 258),
        ("gemini-2.0-flash", (2_300, 1_500), None, 6 * 258),
        ("gemini-3-pro-preview", (4_000, 4_000), None, 1_120),
    ],
)
def test_an_image_costs_what_its_provider_documents(model: str, size: tuple[int, int], detail: str | None, tokens: int) -> None:
    assert count_media(image(png(*size), detail), counter_for(model)) == tokens


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "gpt-5.5", "claude-opus-4", "claude-opus-5", "gemini-2.5-pro", None])
@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_an_image_of_unknown_size_costs_the_most_that_one_can(model: str | None, width: int, height: int) -> None:
    rates = rates_for(model)
    most = rates.image(None, "high")
    assert rates.image((width, height), "high") <= most
    assert count_media(Media("image", reference="https://example.org/x.png", detail="high"), counter_for(model)) == most
    families = ("gpt-4o", "claude-opus-5", "gemini-2.5-pro")
    assert rates_for("some-model").image((width, height), "") >= max(rates_for(m).image((width, height), "") for m in families)


@pytest.mark.parametrize("packed", [False, True])
def test_a_pdf_costs_by_its_pages(packed: bool) -> None:
    ten = Media("document", "application/pdf", base64.b64encode(pdf(10, packed)).decode())
    assert pdf_pages(ten) == 10
    prices = {
        model: count_media(ten, counter_for(model)) for model in ("gemini-2.5-pro", "gemini-3-pro", "claude-opus-4", "gpt-4o")
    }
    assert prices == {"gemini-2.5-pro": 2_580, "gemini-3-pro": 5_600, "claude-opus-4": 30_000, "gpt-4o": 22_650}
    liar = Media("document", "application/pdf", base64.b64encode(pdf(5_000, packed)).decode())
    assert count_media(liar, counter_for("gemini-2.5-pro")) == 258_000, "no provider reads more than 1 000 pages"
    assert count_media(Media("document", reference="file-1"), counter_for("claude-opus-4")) == 15_000


def test_the_price_is_counted_once_for_every_format_and_says_whether_it_is_an_estimate() -> None:
    data = base64.b64encode(png(1_024, 1_024)).decode()
    uri = f"data:image/png;base64,{data}"
    source = {"type": "base64", "media_type": "image/png", "data": data}
    human = {"type": "human", "data": {"content": [{"type": "image", "base64": data, "mime_type": "image/png"}], "type": "human"}}
    shown = {"block_type": "image", "image": data.encode(), "image_mimetype": "image/png", "detail": "low"}
    messages = [
        ("openai", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": uri}}]}, 765, True),
        ("openai", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": uri, "detail": "low"}}]}, 85, True),
        ("openai", {"role": "user", "content": [{"type": "input_image", "image_url": uri, "detail": "low"}]}, 85, True),
        (
            "openai",
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.org/i.png"}}]},
            1_445,
            False,
        ),
        ("anthropic", {"role": "user", "content": [{"type": "image", "source": source}]}, 765, True),
        ("langchain", human, 765, True),
        ("llamaindex", {"role": "user", "blocks": [shown]}, 85, True),
    ]
    with Engine("sqlite://", model="gpt-4o", background=False) as engine:
        for number, (format, message, _tokens, _measured) in enumerate(messages):
            engine.thread(f"t{number}").append(message, format=format)
        stored = [engine.thread(f"t{number}").messages()[0] for number in range(len(messages))]
        found = [(message.tokens - 4, message.exact) for message in stored]
        assert found == [(tokens, measured) for _format, _message, tokens, measured in messages]
        assert all(is_measured(message.parts) is message.exact for message in stored)
        written = engine.thread("t6").context(format="openai").messages[0]["content"][0]["image_url"]
        assert written["detail"] == "low", "what was counted is what is asked for"
