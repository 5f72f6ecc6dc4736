"""Known models: found under the names that people and frameworks give them, and never mistaken for one another."""

from __future__ import annotations

import datetime
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.errors import ConfigError
from lossless.tokens import ModelInfo, find_model, known_models

KNOWN = known_models()


def test_the_table_is_consistent() -> None:
    names = [model.name for model in KNOWN]
    assert len(set(names)) == len(names)
    for model in KNOWN:
        assert model.name == model.name.lower().strip()
        assert 8_000 <= model.window <= 11_000_000
        assert model.max_output is None or 1_000 <= model.max_output <= model.window
        assert model.max_input is None or model.max_input <= model.window
        assert find_model(model.name, KNOWN) is model


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4o", 128_000),
        ("gpt-4o-2024-08-06", 128_000),
        ("openai/gpt-4o", 128_000),
        ("openai:gpt-4o", 128_000),
        ("azure_openai:gpt-4o-mini", 128_000),
        ("openrouter/openai/gpt-4.1-mini", 1_047_576),
        ("gpt-4.1-2025-04-14", 1_047_576),
        ("gpt-5.2", 400_000),
        ("gpt-5.2-2025-12-11", 400_000),
        ("gpt-5.2-chat-latest", 128_000),
        ("gpt-5-chat-latest", 128_000),
        ("gpt-5-nano-2025-08-07", 400_000),
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-3.5-turbo-0125", 16_385),
        ("o3", 200_000),
        ("o4-mini-2025-04-16", 200_000),
        ("ft:gpt-4o-2024-08-06:my-org::abc123", 128_000),
        ("claude-3-5-sonnet-20241022", 200_000),
        ("claude-3-5-haiku-latest", 200_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("anthropic/claude-sonnet-4.5", 200_000),
        ("anthropic:claude-opus-4-1", 200_000),
        ("anthropic/claude-3.7-sonnet:thinking", 200_000),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", 200_000),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000),
        ("bedrock_converse:eu.anthropic.claude-3-haiku-20240307-v1:0", 200_000),
        ("claude-opus-4-1@20250805", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("models/gemini-2.5-pro", 1_048_576),
        ("google_genai:gemini-2.5-flash-preview-09-2025", 1_048_576),
        ("gemini/gemini-3-pro-preview", 1_048_576),
        ("gemini-1.5-pro-002", 2_097_152),
        ("meta-llama/Llama-3.3-70B-Instruct", 131_072),
        ("meta-llama/Meta-Llama-3-8B-Instruct", 8_192),
        ("llama3.1:8b-instruct-q4_K_M", 131_072),
        ("meta.llama3-1-405b-instruct-v1:0", 131_072),
        ("groq/llama-3.3-70b-versatile", 131_072),
        ("mistral-large-2407", 128_000),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 32_768),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144),
        ("Qwen/Qwen2.5-72B-Instruct", 32_768),
        ("deepseek/deepseek-chat", 128_000),
        ("deepseek-ai/DeepSeek-R1-0528", 128_000),
        ("gpt-oss:20b", 131_072),
        ("  GPT-4o ", 128_000),
    ],
)
def test_a_model_is_found_under_its_usual_names(name: str, window: int) -> None:
    found = find_model(name, KNOWN)
    assert found is not None
    assert found.window == window


@pytest.mark.parametrize(
    "name",
    [
        "",
        "my-model",
        "gpt",
        "gpt-50",
        "gpt-5.9",
        "gpt-4ever",
        "gpt-4o-realtime-preview",
        "gpt-4o-killer",
        "claude",
        "claude-opus-4-9",
        "claude-sonnet-4-5-imitation",
        "gemini-2.5-flash-image",
        "gemini-2.5-flash-native-audio-latest",
        "deepseek-r1-distill-llama-70b",
        "llama-guard-3-8b",
        "llama-3.9-8b",
        "qwen2.5-vl-72b-instruct",
        "mistral:7b",
        "acme/",
        "o3o3",
        "notgpt-4o",
    ],
)
def test_a_model_that_is_not_certain_is_not_found(name: str) -> None:
    assert find_model(name, KNOWN) is None


@given(
    st.sampled_from(KNOWN), st.from_regex(r"[a-z]{1,3}zz[a-z]{0,3}", fullmatch=True), st.sampled_from(["-", ".", "", ":", "/"])
)
@settings(deadline=None)
def test_a_known_name_with_another_word_is_another_model(model: ModelInfo, word: str, between: str) -> None:
    assert find_model(f"{model.name}{between}{word}", KNOWN) is None


@given(
    st.sampled_from([model for model in KNOWN if model.name.startswith(("gpt-", "claude-", "gemini-", "o"))]),
    st.sampled_from(["", "openai/", "anthropic:", "google_genai:", "a/b/c/", "models/"]),
    st.dates(datetime.date(2023, 1, 1), datetime.date(2030, 12, 31)),
    st.sampled_from(["-%Y-%m-%d", "-%Y%m%d", "@%Y%m%d", "-%m%d"]),
)
@settings(deadline=None)
def test_a_dated_version_is_its_model_or_one_known_by_that_date(
    model: ModelInfo, prefix: str, date: datetime.date, form: str
) -> None:
    name = f"{model.name}{date:{form}}"
    found = find_model(prefix + name, KNOWN)
    assert found is not None
    assert found is model or name.startswith(found.name)
    assert len(found.name) >= len(model.name)


def test_models_of_a_plugin_are_found_by_their_full_name_and_win_when_they_come_first() -> None:
    own = ModelInfo(name="Acme/Rocket", window=64_000, input_price=1.0)
    other = ModelInfo(name="gpt-4o", window=1_000)
    models = (own, other, *KNOWN)
    assert find_model("acme/rocket", models) is own
    assert find_model("acme/rocket-2026-01-01", models) is own
    assert find_model("openai/gpt-4o-2024-08-06", models) is other


@pytest.mark.parametrize(
    "name", ["gpt-4o" + "-2024-08-06" * 20_000 + "!", "openai" + "-a" * 50_000, "a/" * 50_000, "ft:" * 50_000]
)
def test_a_name_of_any_length_is_looked_up_in_linear_time(name: str) -> None:
    started = time.process_time()
    assert find_model(name, KNOWN) is None
    assert time.process_time() - started < 5


@pytest.mark.parametrize(("name", "window"), [("x", 0), ("x", -1), ("", 1000)])
def test_a_model_without_a_name_or_a_window_is_refused(name: str, window: int) -> None:
    with pytest.raises(ConfigError):
        ModelInfo(name=name, window=window)
