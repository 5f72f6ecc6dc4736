"""The checker: whether rendered messages meet a provider's rules. It shares no code with the repairs that it judges."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lossless.messages.profiles import Profile

__all__ = ["problems"]

_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call", "reasoning_content"}
_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_ANSWERS = {"tool", "function"}
_STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


@dataclass(slots=True)
class _Seen:
    """What the rules ask of one rendered message, whichever of the two dialects it is in."""

    role: str = ""
    calls: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    function: str | None = None  # the function that was called, or answers, in the older form
    others: int = 0  # blocks that are neither calls nor results nor reasoning
    results_late: bool = False
    ends_in_reasoning: bool = False
    wrong: list[str] = field(default_factory=list)


def problems(messages: Sequence[Mapping[str, Any]], profile: Profile, system: Any = None) -> list[str]:
    """List what a provider would refuse in a rendered history; an empty list if nothing.

    Args:
        messages: dicts in the style of OpenAI's chat completions or of Anthropic's messages.
        profile: the provider's rules.
        system: the system prompt, where it is kept apart from the messages.

    Returns:
        One sentence a problem, each beginning with the position of the message, from 0.
    """
    found = [f"system: {wrong}" for wrong in _wrong_system(system)]
    seen = [_look(message, profile) for message in messages]
    for position, each in enumerate(seen):
        found.extend(f"{position}: {wrong}" for wrong in each.wrong)
    found.extend(_wrong_order(seen, profile))
    found.extend(_wrong_pairs(seen))
    found.extend(_wrong_ids(seen, profile))
    return found


def _wrong_system(system: Any) -> list[str]:
    if system is None:
        return []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list) or not blocks:
        return ["neither a string nor a list of blocks"]
    return ["a blank text"] if any(_is_blank_text(block) for block in blocks) else []


def _look(message: Mapping[str, Any], profile: Profile) -> _Seen:
    if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
        return _Seen(wrong=["no message with a known role"])
    seen = _Seen(role=message["role"])
    if foreign := set(message) - _KEYS:
        seen.wrong.append(f"keys that the provider does not know: {sorted(foreign)}")
    _look_at_calls(message, seen)
    content = message.get("content")
    if seen.role in _ANSWERS:
        _look_at_answer(message, content, seen, profile)
    elif isinstance(content, str):
        blank = not content.strip()
        seen.others += not blank
        beside_calls = bool(seen.calls) or seen.function is not None
        if blank and not (beside_calls and (profile.blank_beside_calls or not content)):  # an empty string is as good as null
            seen.wrong.append("a blank content")
    elif isinstance(content, list):
        for block in content:
            _look_at_block(block, seen, profile)
    elif content is not None:
        seen.wrong.append("content of a wrong type")
    if message.get("refusal") or message.get("audio"):
        seen.others += 1
    if not (seen.others or seen.calls or seen.results or seen.function is not None):
        seen.wrong.append("nothing in it")
    if seen.ends_in_reasoning:
        seen.wrong.append("reasoning comes last")
    return seen


def _look_at_calls(message: Mapping[str, Any], seen: _Seen) -> None:
    calls = message.get("tool_calls")
    if "tool_calls" in message and (not isinstance(calls, list) or not calls):
        seen.wrong.append("tool_calls is no list, or empty")
        return
    for call in calls or []:
        if not isinstance(call, Mapping) or not isinstance(call.get("id"), str):
            seen.wrong.append("a call without an id")
            continue
        seen.calls.append(call["id"])
        function = call.get("function")
        if isinstance(function, Mapping) and not (function.get("name") and isinstance(function.get("arguments"), str)):
            seen.wrong.append("a call without a name, or with arguments that are not text")
    function = message.get("function_call")
    if isinstance(function, Mapping):
        seen.function = str(function.get("name"))
    if (seen.calls or seen.function is not None) and seen.role != "assistant":
        seen.wrong.append("a call that is not the assistant's")


def _look_at_answer(message: Mapping[str, Any], content: Any, seen: _Seen, profile: Profile) -> None:
    if seen.role == "function":
        seen.function = str(message.get("name"))
    elif isinstance(message.get("tool_call_id"), str):
        seen.results.append(message["tool_call_id"])
    else:
        seen.wrong.append("a result without the id of its call")
    seen.wrong.extend(_wrong_answer(content, profile))


def _wrong_answer(content: Any, profile: Profile) -> list[str]:
    if content is None or isinstance(content, str):
        return [] if profile.empty_results or (content or "").strip() else ["an empty result"]
    if not isinstance(content, list) or not all(isinstance(block, Mapping) for block in content):
        return ["a result of a wrong type"]
    if not content and not profile.empty_results:
        return ["an empty result"]
    wrong = ["a blank text in a result"] if any(_is_blank_text(block) for block in content) else []
    return wrong + [each for block in content for each in _wrong_image(block, profile)]


def _look_at_block(block: Any, seen: _Seen, profile: Profile) -> None:
    if not isinstance(block, Mapping):
        seen.wrong.append("a block that is no mapping")
        return
    kind = block.get("type")
    seen.ends_in_reasoning = kind in ("thinking", "redacted_thinking")
    if seen.ends_in_reasoning:
        if profile.signed_reasoning and not block.get("signature") and not block.get("data"):
            seen.wrong.append("reasoning without a signature")
    elif kind == "tool_use":
        seen.calls.append(str(block.get("id")))
        if seen.role != "assistant" or not block.get("name") or not isinstance(block.get("input"), Mapping):
            seen.wrong.append("a call that is not the assistant's, or has no name, or no object as input")
    elif kind == "tool_result":
        seen.results_late = seen.results_late or seen.others > 0
        seen.results.append(str(block.get("tool_use_id")))
        seen.wrong.extend(_wrong_answer(block.get("content"), profile))
        if seen.role != "user":
            seen.wrong.append("a result that is not in the user's role")
    else:
        seen.others += 1
        if _is_blank_text(block):
            seen.wrong.append("a blank text")
        seen.wrong.extend(_wrong_image(block, profile))


def _is_blank_text(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and not str(block.get("text") or "").strip()


def _wrong_image(block: Mapping[str, Any], profile: Profile) -> list[str]:
    if not profile.check_images:
        return []
    source = block.get("source")
    url = block.get("image_url")
    if block.get("type") == "image" and isinstance(source, Mapping) and source.get("type") == "base64":
        mime, data = source.get("media_type"), source.get("data")
    elif isinstance(url, Mapping) and str(url.get("url")).startswith("data:"):
        head, _, data = url["url"].partition(",")
        mime = head[5:].split(";")[0]
    else:
        return []
    try:
        content = base64.b64decode(str(data)[:256], validate=True)
    except (binascii.Error, ValueError):
        return ["an image that is not base64"]
    start = _STARTS.get(str(mime))
    if start is None or not content.startswith(start) or (mime == "image/webp" and content[8:12] != b"WEBP"):
        return [f"an image whose bytes are not {mime}"]
    return ["an image that is too large"] if len(str(data)) * 0.75 - 2 > profile.max_image_bytes else []


def _wrong_order(seen: Sequence[_Seen], profile: Profile) -> list[str]:
    found: list[str] = []
    previous: _Seen | None = None
    for position, each in enumerate(seen):
        if each.role in ("system", "developer"):
            if previous is not None and not profile.system_anywhere:
                found.append(f"{position}: a system message after the first")
            continue
        if previous is None and profile.user_first and each.role != "user":
            found.append(f"{position}: the first message is not the user's")
        if previous is not None and profile.alternate and each.role == previous.role and each.role not in _ANSWERS:
            after_results = profile.results_alone and previous.results and not previous.others and not each.results
            if not after_results:
                found.append(f"{position}: two messages of the role {each.role} in a row")
        if each.results_late:
            found.append(f"{position}: a result after something else")
        if profile.results_alone and each.results and each.others:
            found.append(f"{position}: something else beside the results")
        previous = each
    return found


def _wrong_pairs(seen: Sequence[_Seen]) -> list[str]:
    found: list[str] = []
    expected: list[str] = []
    function: str | None = None
    for position, each in enumerate(seen):
        for call_id in each.results:
            if not expected or expected[0] != call_id:
                found.append(f"{position}: the result {call_id!r} does not answer the next call of the message before it")
            if call_id in expected:
                expected.remove(call_id)
        if each.role == "function":
            if function != each.function:
                found.append(f"{position}: the result of {each.function} has no call before it")
            function = None
            continue
        if function is not None:
            found.append(f"{position}: the call of {function} before it has no result")
            function = None
        if expected and (each.others or each.calls or not each.results):
            found.append(f"{position}: calls before it have no result yet: {expected}")
            expected = []
        if each.role == "assistant":
            expected = list(each.calls)
            function = each.function
    if expected or function is not None:
        found.append(f"{len(seen) - 1}: its calls have no result: {expected or function}")
    return found


def _wrong_ids(seen: Sequence[_Seen], profile: Profile) -> list[str]:
    found: list[str] = []
    used: set[str] = set()
    for position, each in enumerate(seen):
        for call_id in each.calls:
            if call_id in used:
                found.append(f"{position}: the call id {call_id!r} was used before")
            if not profile.id_rule.fullmatch(call_id):
                found.append(f"{position}: the call id {call_id!r} is not one that {profile.name} takes")
            used.add(call_id)
    return found
