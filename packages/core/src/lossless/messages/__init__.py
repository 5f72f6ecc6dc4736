"""The message model: payloads kept verbatim, parts read from them, formats, units and provider profiles."""

from lossless.messages.anthropic import AnthropicFormat, looks_anthropic
from lossless.messages.checks import problems
from lossless.messages.cleaning import without_reasoning
from lossless.messages.erased import ERASED_FORMAT, erased_payload, left_of, read_erased
from lossless.messages.formats import Format, Rendered, Turn, is_request
from lossless.messages.langchain import LangChainFormat
from lossless.messages.llamaindex import LlamaIndexFormat
from lossless.messages.model import Message, MessageRef
from lossless.messages.openai import OpenAIFormat
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text, readable, searchable
from lossless.messages.payload import canonical, canonical_equal, decode, encode
from lossless.messages.profiles import ANTHROPIC, GEMINI, OPENAI, PROFILES, Profile, Repair, find_profile, rules_for
from lossless.messages.redacted import marker
from lossless.messages.repairs import Repaired, is_valid, repair
from lossless.messages.units import Shape, UnitTracker, shape_of, units

__all__ = [
    "ANTHROPIC",
    "ERASED_FORMAT",
    "GEMINI",
    "OPENAI",
    "PROFILES",
    "AnthropicFormat",
    "Call",
    "Format",
    "LangChainFormat",
    "LlamaIndexFormat",
    "Media",
    "Message",
    "MessageRef",
    "Opaque",
    "OpenAIFormat",
    "Part",
    "Profile",
    "Reasoning",
    "Rendered",
    "Repair",
    "Repaired",
    "Result",
    "Shape",
    "Text",
    "Turn",
    "UnitTracker",
    "canonical",
    "canonical_equal",
    "decode",
    "encode",
    "erased_payload",
    "find_profile",
    "is_request",
    "is_valid",
    "left_of",
    "looks_anthropic",
    "marker",
    "problems",
    "read_erased",
    "readable",
    "repair",
    "rules_for",
    "searchable",
    "shape_of",
    "units",
    "without_reasoning",
]
