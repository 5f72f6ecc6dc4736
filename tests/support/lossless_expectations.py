"""Checking a context against the ``expect`` of a reported case (see ``lossless_testdata.trim_cases``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from lossless import ActiveContext, Thread
from lossless.messages import find_profile, problems

__all__ = ["unmet"]


def unmet(case: Mapping[str, Any], thread: Thread, context: ActiveContext) -> list[str]:
    """Name the expectations of a case that do not hold; those about trims and session files are for their own tests."""
    expect = case["expect"]
    shown = [*_as_message(context.system), *context.messages]
    text = json.dumps(shown, ensure_ascii=False)
    roles = [message["role"] for message in context.messages]
    checks: dict[str, Callable[[Any], bool]] = {
        "valid": lambda wanted: problems(context.messages, find_profile(case["profile"]), context.system) == [],
        "one_of": lambda wanted: any(_matches(_plain(shown), _plain(each)) for each in wanted),
        "same": lambda wanted: shown == case["messages"],
        "stored": lambda wanted: [repr(m.payload) for m in thread.messages()] == [repr(m) for m in case["messages"]],
        "texts": lambda wanted: all(json.dumps(each, ensure_ascii=False)[1:-1] in text for each in wanted),
        "max_words": lambda wanted: sum(len(each.split()) for each in _strings(shown)) <= wanted,
        "nothing_lost": lambda wanted: _counts(context) == context.total == len(case["messages"]),
        "no_thinking": lambda wanted: "thinking" not in text,
        "no_adjacent_roles": lambda wanted: all(one != other for one, other in pairwise(roles)),
    }
    return [name for name, wanted in expect.items() if name in checks and wanted and not checks[name](wanted)]


def _as_message(system: Any) -> list[dict[str, Any]]:
    return [] if system is None else [{"role": "system", "content": system}]


def _counts(context: ActiveContext) -> int:
    """Count the messages that are shown, under a summary, or counted in the omission line."""
    omitted = [int(item.text.lstrip("[").split()[0]) for item in context.items if item.kind == "omission"]
    return context.represented + sum(omitted)


def _plain(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write messages without notation: content as blocks, results inside too, and neighbours of one role as one."""
    plain: list[dict[str, Any]] = []
    for message in messages:
        written = {**message, "content": _blocks(message["content"])}
        last = plain[-1] if plain else None
        blocks = written["content"]
        anthropic = isinstance(blocks, list) and last is not None and isinstance(last["content"], list)
        if last is not None and anthropic and last["role"] == written["role"] != "tool" and set(written) == {"role", "content"}:
            plain[-1] = {**last, "content": [*last["content"], *blocks]}
        else:
            plain.append(written)
    return plain


def _blocks(content: Any) -> Any:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [{**block, "content": _blocks(block["content"])} if "content" in block else block for block in content]
    return content


def _matches(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(_matches(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_matches, found, wanted))
    if isinstance(wanted, str) and wanted.startswith("$"):
        return isinstance(found, str) and bool(found.strip()) and (wanted != "$stub" or len(found) < 500)
    return bool(found == wanted)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for key, inner in value.items() if key not in ("role", "type") for text in _strings(inner)]
    return [text for inner in value for text in _strings(inner)] if isinstance(value, list) else []
