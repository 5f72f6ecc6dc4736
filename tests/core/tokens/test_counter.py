"""Counting with tiktoken: exact, for any text, in linear time, and which counter counts for a model."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import tiktoken.registry
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lossless.tokens import (
    EstimatingCounter,
    TiktokenCounter,
    TokenCounter,
    counter_for,
    encoding_for,
    margin_for,
    vocabulary,
)
from lossless.tokens.tiktoken_counter import pieces

ENCODINGS = ["o200k_base", "cl100k_base"]
WORDS = st.sampled_from(
    [
        "word",
        "Foo's",
        "x=1;",
        "12345",
        "  indented",
        "\tTab",
        "naïve",
        "日本語",
        "привет",
        "🙂👍🏽",
        "don't",
        "</a>",
        "//",
        "...",
        "'s",
        "ab\u0301",
    ]
)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), max_size=30).map("\nnext ".join)


def plain(encoding: str, text: str) -> int:
    """Count as tiktoken alone does."""
    found = vocabulary.load(encoding)
    assert found is not None
    return len(found.encode_ordinary(text))


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.text(st.characters(codec="utf-8"), max_size=300))
@settings(max_examples=60, deadline=None)
def test_a_count_is_the_tokenizers_own(encoding: str, text: str) -> None:
    assert TiktokenCounter(encoding).count(text) == plain(encoding, text)


@pytest.mark.parametrize("text", ["<|endoftext|>", "a<|fim_prefix|>b", "<|endofprompt|>", "<|im_start|>user"])
def test_special_tokens_are_counted_as_the_ordinary_text_they_are(text: str) -> None:
    for model in ("gpt-4o", "gpt-4"):
        assert counter_for(model).count(text) > 3


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000,
        "\n" * 1_000_000,
        "\t \n" * 400_000,
        "a" * 1_000_000,
        "A" * 1_000_000,
        "aA" * 500_000,
        "=" * 1_000_000,
        "\u0301" * 1_000_000,
        "我" * 1_000_000,
        "\0" * 1_000_000,
        "\ud800" * 1_000_000,
        "x" + "\u3000" * 1_000_000 + "x",
        "The quick brown fox jumps over the lazy dog.\n" * 222_000,
    ],
    ids=[
        "spaces",
        "newlines",
        "mixed space",
        "a",
        "A",
        "aA",
        "rulers",
        "accents",
        "Chinese",
        "NUL",
        "surrogates",
        "wide spaces",
        "10 MB",
    ],
)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_huge_and_odd_texts_are_counted_in_linear_time(
    encoding: str, text: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    counter = TiktokenCounter(encoding)
    counter.load()
    started = time.process_time()
    count = counter.count(text)
    assert time.process_time() - started < 12, "a quadratic count takes minutes"
    assert 0 < count <= len(text.encode("utf-8", "surrogatepass"))
    assert caplog.records == [], "nothing had to be estimated"
    assert capfd.readouterr().err == "", "nothing panicked"


def test_the_empty_text_has_no_tokens() -> None:
    assert counter_for().count("") == 0


@given(text=st.text(max_size=400), size=st.integers(1, 60))
@settings(deadline=None)
@example(text="\n" * 50, size=7)
@example(text="a b" * 50, size=2)
def test_pieces_are_the_whole_text_in_order_and_none_is_too_long(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= size for piece in cut if text)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=LINES, size=st.integers(60, 200))
@settings(deadline=None)
def test_cutting_a_text_at_its_seams_changes_no_count(encoding: str, text: str, size: int) -> None:
    assert sum(plain(encoding, piece) for piece in pieces(text, size)) == plain(encoding, text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_long_text_counts_as_one(encoding: str) -> None:
    text = "".join(f"line {i}: the result was {i * i % 977}, naïvely, for 第{i}章\n" for i in range(9_000))
    assert len(text) > 300_000
    assert TiktokenCounter(encoding).count(text) == plain(encoding, text)


def test_a_text_without_seams_costs_a_few_tokens_more_at_the_most() -> None:
    text = "q9Zx+/" * 60_000
    assert abs(counter_for().count(text) - plain("o200k_base", text)) <= 2 * (len(text) // 100_000 + 1)


class Failing:
    """An encoding whose every use ends in an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def encode_ordinary(self, text: str) -> list[int]:
        raise self.error


def with_encoding(monkeypatch: pytest.MonkeyPatch, encoding: Any) -> TiktokenCounter:
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "of this test", encoding)
    return TiktokenCounter("of this test")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError(), GeneratorExit()])
def test_interrupts_go_through(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    with pytest.raises(type(error)):
        with_encoding(monkeypatch, Failing(error)).count("text")


@pytest.mark.parametrize("error", [ValueError("x"), MemoryError(), RuntimeError("stack overflow")])
def test_an_error_of_the_tokenizer_ends_in_an_estimate_of_that_text(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    assert with_encoding(monkeypatch, Failing(error)).count("two words") == EstimatingCounter().count("two words")


def test_a_panic_of_the_tokenizers_native_code_ends_in_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    real = vocabulary.load("o200k_base")
    assert real is not None

    class Panicking:
        def encode_ordinary(self, text: str) -> list[int]:
            return real.encode_ordinary(" " * 1_000_000)

    with pytest.raises(BaseException) as raised:
        Panicking().encode_ordinary("")
    assert not isinstance(raised.value, Exception), "this test needs a text at which tiktoken panics"
    assert with_encoding(monkeypatch, Panicking()).count("two words") == EstimatingCounter().count("two words")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("openai/gpt-4.1-nano", "o200k_base"),
        ("openai:gpt-5.2", "o200k_base"),
        ("gpt-5-mini", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("o4-mini-2025-04-16", "o200k_base"),
        ("gpt-oss:20b", "o200k_base"),
        ("ft:gpt-4o-2024-08-06:acme::x1", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4-0613", "cl100k_base"),
        ("GPT-3.5-Turbo-0125", "cl100k_base"),
        ("azure/gpt-35-turbo", "cl100k_base"),
        ("claude-sonnet-4-5", None),
        ("gemini-2.5-pro", None),
        ("gpt-50", None),
        ("gpt-4ever", None),
        ("llama3.1:8b", None),
        ("", None),
        (None, "o200k_base"),
    ],
)
def test_a_model_has_its_own_encoding(model: str | None, encoding: str | None) -> None:
    assert encoding_for(model) == encoding
    assert counter_for(model).name == encoding or (encoding is None and counter_for(model).name == "o200k_base")


class Foreign:
    """A counter that somebody else provides."""

    def __init__(self, exact: bool) -> None:
        self.name = "theirs"
        self.exact = exact

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.parametrize(
    ("model", "counter", "margin"),
    [
        ("gpt-5.2", counter_for("gpt-5.2"), 0.01),
        ("gpt-4", counter_for("gpt-4"), 0.01),
        (None, counter_for(None), 0.01),
        (None, counter_for("gpt-4"), 0.01),
        ("claude-opus-4-5", counter_for("claude-opus-4-5"), 0.15),
        ("gpt-4", counter_for("gpt-4o"), 0.15),
        ("gpt-5.2", EstimatingCounter(), 0.15),
        (None, EstimatingCounter(), 0.15),
        ("claude-opus-4-5", Foreign(exact=True), 0.01),
        ("claude-opus-4-5", Foreign(exact=False), 0.15),
    ],
)
def test_the_margin_is_small_only_where_counting_is_exact_for_the_model(
    model: str | None, counter: TokenCounter, margin: float
) -> None:
    assert margin_for(model, counter) == margin
