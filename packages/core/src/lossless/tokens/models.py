"""Well-known models and the size of their context windows.

The figures are meant to be those of the vendors: OpenAI's model pages (for GPT-5 and later with the limit on the input alone),
Anthropic's models overview, Google's Gemini API pages, Meta's model cards, Mistral's overview, Alibaba's Model Studio and
DeepSeek's API documentation. Not every one was checked at its vendor's; newer entries come from public catalogues of models, as
of 2026. Where a name has stood for versions of different size, or figures differ, the smaller one is taken. Prices change too
often to be kept here; plugins can give them, and other windows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from lossless.errors import ConfigError

__all__ = ["ModelInfo", "bare_names", "find_model", "known_models"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What is known of a model.

    Attributes:
        name: without a provider's prefix or a date.
        window: tokens that input and answer may have together.
        max_output: tokens that an answer may have, or None.
        max_input: tokens that the input may have, where the provider limits it apart from the window, or None.
        input_price: of a million tokens of input, in US dollars, or None.
        output_price: of a million tokens of output, in US dollars, or None.
        cached_price: of a million tokens of input from the provider's cache, in US dollars, or None: as ``input_price``.
    """

    name: str
    window: int
    max_output: int | None = None
    max_input: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None

    def __post_init__(self) -> None:
        if not self.name or self.window < 1:
            raise ConfigError(
                f"model {self.name!r} has a window of {self.window} tokens",
                hint="a model needs a name and the size of its window in tokens",
            )


# Lines of a window, a limit on answers, and names; then those with a limit on the input, too.
_K = 1024
_TABLE: tuple[tuple[int, int | None, str], ...] = (
    # OpenAI
    (16_385, 4_096, "gpt-3.5-turbo"),
    (8_192, 8_192, "gpt-4"),
    (32_768, 32_768, "gpt-4-32k"),
    (128_000, 4_096, "gpt-4-turbo gpt-4-1106 gpt-4-0125 gpt-4-vision"),
    (128_000, 16_384, "gpt-4o gpt-4o-mini chatgpt-4o gpt-4.5 gpt-5-chat gpt-5.1-chat gpt-5.2-chat"),
    (1_047_576, 32_768, "gpt-4.1 gpt-4.1-mini gpt-4.1-nano"),
    (128_000, 32_768, "o1-preview"),
    (128_000, 65_536, "o1-mini"),
    (200_000, 100_000, "o1 o1-pro o3 o3-mini o3-pro o3-deep-research o4-mini o4-mini-deep-research codex-mini"),
    (400_000, 272_000, "gpt-5-pro"),
    (131_072, 131_072, "gpt-oss gpt-oss-20b gpt-oss-120b"),
    # Anthropic
    (200_000, 4_096, "claude-3-haiku claude-3-sonnet claude-3-opus"),
    (200_000, 8_192, "claude-3-5-haiku claude-3-5-sonnet"),
    (200_000, 32_000, "claude-opus-4 claude-opus-4-0 claude-opus-4-1"),
    (200_000, 64_000, "claude-3-7-sonnet claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-5 claude-haiku-4-5 claude-opus-4-5"),
    (1_000_000, 128_000, "claude-opus-4-6 claude-sonnet-4-6 claude-opus-4-7 claude-opus-4-8"),
    (1_000_000, 128_000, "claude-opus-5 claude-opus-5-5 claude-sonnet-5 claude-haiku-5-5 claude-fable-5 claude-fable-5-1"),
    # Google; the window is for the input alone
    (2 * _K * _K, 8_192, "gemini-1.5-pro gemini-2.0-pro"),
    (_K * _K, 8_192, "gemini-1.5-flash gemini-1.5-flash-8b gemini-2.0-flash gemini-2.0-flash-lite"),
    (_K * _K, 65_536, "gemini-2.0-flash-thinking gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite"),
    (_K * _K, 65_536, "gemini-3-pro gemini-3-flash gemini-3.1-pro gemini-3.1-flash-lite"),
    # Meta
    (8 * _K, None, "llama-3 llama3"),
    (128 * _K, None, "llama-3.1 llama3.1 llama3-1 llama-3.2 llama3.2 llama3-2 llama-3.3 llama3.3 llama3-3"),
    (_K * _K, None, "llama-4-maverick"),
    (10 * _K * _K, None, "llama-4-scout"),
    # Mistral
    (32 * _K, None, "mistral-7b open-mistral-7b mixtral-8x7b open-mixtral-8x7b codestral-2405"),
    (32 * _K, None, "mistral-small-2402 mistral-small-2409 mistral-large-2402"),
    (64 * _K, None, "mixtral-8x22b open-mixtral-8x22b"),
    (128_000, None, "mistral-large mistral-large-2407 mistral-large-2411 mistral-medium mistral-small"),
    (128_000, None, "mistral-nemo open-mistral-nemo ministral-3b ministral-8b pixtral-12b pixtral-large"),
    (128_000, None, "magistral-small magistral-medium devstral-small devstral-medium"),
    (40_000, None, "magistral-small-2506 magistral-medium-2506"),
    (256_000, None, "mistral-large-2512 mistral-large-latest codestral devstral-2512"),
    # Alibaba
    (32 * _K, 8_192, "qwen-max qwen2.5 qwen-2.5 qwen2.5-coder qwen-2.5-coder"),
    (32 * _K, None, "qwen3 qwen-3"),
    (128 * _K, 8_192, "qwen-plus qwen-turbo"),
    (128 * _K, None, "qwen3-235b-a22b qwen3-30b-a3b qwq-32b"),
    (256 * _K, None, "qwen3-235b-a22b-instruct-2507 qwen3-235b-a22b-thinking-2507 qwen3-next-80b-a3b"),
    (256 * _K, None, "qwen3-30b-a3b-instruct-2507 qwen3-30b-a3b-thinking-2507 qwen3-coder qwen3-max"),
    (1_000_000, 32_768, "qwen-flash"),
    (1_000_000, 65_536, "qwen3-coder-plus qwen3-coder-flash"),
    # DeepSeek
    (128_000, 8_192, "deepseek-chat deepseek-reasoner"),
    (128_000, None, "deepseek-v3 deepseek-v3.1 deepseek-v3.2 deepseek-r1"),
    (1_000_000, None, "deepseek-v4-flash deepseek-v4-pro"),
)
_LIMITED: tuple[tuple[int, int, int, str], ...] = (
    (400_000, 128_000, 272_000, "gpt-5 gpt-5-mini gpt-5-nano gpt-5-codex gpt-5.1 gpt-5.1-codex gpt-5.1-codex-mini"),
    (400_000, 128_000, 272_000, "gpt-5.1-codex-max gpt-5.2 gpt-5.2-pro gpt-5.2-codex gpt-5.3-codex"),
    (1_050_000, 128_000, 922_000, "gpt-5.4 gpt-5.4-pro gpt-5.5 gpt-5.5-pro gpt-5.6"),
)

# What may follow a known name without changing the model's window: dates and versions, release words, and for open weights the
# number of parameters, the kind of tuning and the quantisation. Any other word may well name another model, as "-realtime" does.
_VARIANT = re.compile(
    r"""(?: [-@:_] (?> (?:
        \d{4}-\d{2}-\d{2} | \d{2}-\d{4} | \d{2}-\d{2} | \d{8} | \d{6} | \d{3,4} | v\d{1,2} (?:[.:]\d)?
      | latest | preview | experimental | exp | beta | stable | thinking
      | (?:\d{1,2}x)? \d{1,4} (?:\.\d{1,2})? b | a\d{1,3}b | \d{1,3}e
      | instruct | chat | it | hf | base | instant | versatile
      | i?q\d[a-z0-9_]* | fp\d{1,2} | bf16 | int\d | awq | gptq | gguf | mlx | \dbit
    ) (?![a-z0-9.]) ) )++""",
    re.VERBOSE,
)
_VENDOR = re.compile(
    r"(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?(?:anthropic|meta|mistral|deepseek|openai|qwen|google)\.(?=[a-z])"
)
_PROVIDER = re.compile(
    r"(?:openai|azure|anthropic|bedrock|google|vertex|gemini|mistral|groq|together|fireworks|deepseek|ollama|openrouter|litellm"
    r"|huggingface|nvidia|qwen|dashscope|meta|xai|cohere)[-_a-z]*:(?=[a-z])"
)


@cache
def known_models() -> tuple[ModelInfo, ...]:
    """Give the well-known models, each name once."""
    plain = [ModelInfo(name=name, window=window, max_output=output) for window, output, names in _TABLE for name in names.split()]
    limited = [
        ModelInfo(name=name, window=window, max_output=output, max_input=most)
        for window, output, most, names in _LIMITED
        for name in names.split()
    ]
    return (*plain, *limited)


def find_model(name: str, models: Iterable[ModelInfo]) -> ModelInfo | None:
    """Find a model by its name, or by the longest known name that it is a version of; None if none is certain.

    A provider's prefix (``openai/``, ``anthropic:``, ``us.anthropic.``) and whatever names a version (a date, ``-latest``,
    ``-v1:0``, the parameters and quantisation of open weights) may stand around the known name. A name with any other addition is
    another model.

    Args:
        name: as the user or a framework gives it; case does not matter.
        models: where to look; of two with the same name the first is found.
    """
    known: dict[str, ModelInfo] = {}
    for model in models:
        known.setdefault(model.name.lower(), model)
    names = bare_names(name)
    for candidate in names:
        if candidate in known:
            return known[candidate]
    matches = [
        known[prefix]
        for candidate in names
        for prefix in known
        if candidate.startswith(prefix) and _VARIANT.fullmatch(candidate, len(prefix))
    ]
    return max(matches, key=lambda model: len(model.name), default=None)


def bare_names(name: str) -> tuple[str, ...]:
    """Give what a model's name may be without its provider, in lower case: as given first, then ever shorter readings."""
    given = name.strip().lower()
    readings = [given, given.rpartition("/")[2]]
    for prefix in (_PROVIDER, _VENDOR):
        readings.append(prefix.sub("", readings[-1], count=1))
    last = readings[-1]
    if last.startswith("ft:"):  # OpenAI's fine-tuned models: ft:gpt-4o-2024-08-06:organisation:name:id
        last = last.split(":")[1]
    last = last.removeprefix("meta-")
    if last.startswith("claude-"):  # some providers write versions with a dot
        last = re.sub(r"(?<=\d)\.(?=\d)", "-", last)
    readings.append(last)
    return tuple(dict.fromkeys(reading for reading in readings if reading))
