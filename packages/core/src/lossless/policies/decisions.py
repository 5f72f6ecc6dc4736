"""Decisions, commitments, plans, open tasks and side-effecting calls: what was settled and done, apart from what is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lossless.messages.model import Message
from lossless.messages.parts import Call
from lossless.policies.model import Decision
from lossless.policies.prose import sentences
from lossless.policies.sources import Passage, Source, as_sources
from lossless.policies.words import Cue, plain_words

__all__ = ["decided", "decisions"]

LONGEST = 240
"""Characters of a decision; a longer sentence is left to the central sentences of a note."""


def decisions(messages: Iterable[Message | Mapping[str, Any]]) -> list[Decision]:
    """Find decisions, commitments, plans, open tasks and side-effecting calls, in order, each with the role that made it.

    They are the understanding of a conversation, never evidence for a value. A side-effecting call is recognised by its name
    (book, update, delete, write, …) or, of a shell, by its command; one whose answer says that it failed is marked so.

    Raises:
        MessageError: a dict is no message of a known format.
    """
    return decided(as_sources(messages))


def decided(sources: Sequence[Source]) -> list[Decision]:
    """Do the same for messages that were read already."""
    failed = _failures(sources)
    found: dict[str, Decision] = {}
    for at, source in enumerate(sources):
        for passage in source.passages:
            if passage.role in ("user", "assistant"):
                for decision in _said(passage, source.id):
                    found.setdefault(f"{decision.role} {decision.text.casefold()}", decision)
        for place, call in enumerate(source.calls):
            text = _action(call)
            if text:
                text += " (failed)" if (at, place) in failed else ""
                found[f"{source.id} {place} {text}"] = Decision(text=text, kind="action", message_id=source.id, role=source.role)
    return list(found.values())


# --- what was said --------------------------------------------------------------------------------------------------------


def _phrases(words: str, *alternatives: str) -> Cue:
    return Cue(re.compile(rf"\b(?:{'|'.join(alternatives)})(?!\w)", re.IGNORECASE), words)


_I = r"(?:i|we)"
_WILL = rf"{_I}(?:['’]ll| will)"
_OPEN = _phrases(
    "todo fixme pending done do yet still remain remains remaining follow open",
    "todo|fixme|pending|to be done|left to do|not yet (?:done|implemented|fixed|finished)",
    "still (?:need|have|has|to)|remains? to|remaining (?:tasks?|work)|follow(?:-| )up on|open (?:question|issue|task)s?",
)
_BOX = re.compile(r"\s*[-*]\s\[ \]")
_PLAN = _phrases(
    "plan planning next going intend first then step",
    "(?:the|my|our) plan|plan(?:ning)? (?:is|to)|next steps?|going to|intend to",
    rf"(?:first|then),? {_WILL}|step \d",
)
_DECIDED = _phrases(
    "decided chose choose picked agreed settled opted approve prefer confirm ll will like want please let lets decision go "
    "instead",
    rf"{_I}(?:['’]ve| have)? (?:decided|chose|choose|picked|agreed|settled|opted|approve|prefer|confirm)|we agreed|agreed to",
    rf"(?:{_WILL}|{_I}['’]d like to|{_I} would like to|{_I} want to) (?:go (?:with|for|ahead)|use|take|keep|stick|proceed"
    "|cancel|book|change|upgrade|switch|remove|add|pay|return|exchange|order|choose|pick)",
    "please (?:proceed|cancel|book|change|use|make|keep|add|remove|update|send|delete|upgrade|exchange|return|go|do)",
    "let['’]?s|decision|go ahead|instead of",
)
_COMMITTED = _phrases(
    "ll will promise going commit guarantee", rf"{_WILL}|{_I} (?:promise|am going to|commit to|guarantee)|{_I}['’]m going to"
)
_DONE = _phrases(
    "now been successfully also",
    r"(?:has|have|had|was|were) (?:now |been |successfully |also ){1,3}(?:\w{3,20}ed|sent|written|paid|set|built|made|put)",
)
_POLITE = _phrases(
    "ll will happy feel let like want could can if guide",
    rf"{_WILL} (?:need|require|be (?:happy|glad|here|able)|assist|help|reach out|contact you|get back|check|look|let you|wait)",
    "happy to|feel free|let me know|would you like|do you want|could you|can you|if you (?:have|need|want|would)|guide you",
)
_ASSENT = re.compile(
    r"(?:yes|yep|sure|ok(?:ay)?|agreed|confirmed|approved|no|nope)\b[,.! ]+(?!.{0,20}\b(?:my|it['’]?s|here|i don|is|are)\b)",
    re.IGNORECASE,
)


def _said(passage: Passage, message_id: str) -> Iterator[Decision]:
    for line in passage.text.split("\n"):
        if len(line) > 20_000:
            continue
        for begin, end in sentences(line):
            if end - begin < 8:
                continue
            sentence = line[begin:end].strip(" \t*-#>")
            kind = _kind(sentence, passage.role) if 8 <= len(sentence) <= LONGEST else ""
            if kind or (sentence and _BOX.match(line)):
                yield Decision(text=sentence, kind=kind or "open_task", message_id=message_id, role=passage.role)


def _kind(sentence: str, role: str) -> str:
    words = plain_words(sentence)
    if sentence.endswith("?") or (role == "assistant" and _POLITE.search(sentence, words)):
        return ""
    if _OPEN.search(sentence, words):
        return "open_task"
    if _DECIDED.search(sentence, words) or (role == "user" and len(sentence) > 12 and _ASSENT.match(sentence)):
        return "decision"
    if _PLAN.search(sentence, words):
        return "plan"
    if role == "assistant" and _COMMITTED.search(sentence, words):
        return "commitment"
    return "decision" if role == "assistant" and len(sentence) <= 160 and _DONE.search(sentence, words) else ""


# --- what was done --------------------------------------------------------------------------------------------------------

_READING = (
    "get list search find read fetch query show view describe calculate think check lookup count grep glob look "
    "analyze validate verify inspect ls cat head tail explore browse retrieve load parse compare test summarize"
)
_WRITING = (
    "add apply append approve assign book buy cancel change close commit complete confirm copy create delete "
    "deploy disable drop edit enable exchange execute export grant import insert install invite issue kill launch "
    "make merge modify move open order patch pay post publish purchase push put refund reject release remove "
    "rename replace reply reserve reset restart restore return revert revoke rotate save schedule send set sign "
    "start stop submit subscribe transfer trigger uninstall update upgrade upload upsert write"
)
_READS = frozenset(_READING.split())
_WRITES = frozenset(_WRITING.split())
_SHELLS = frozenset({"bash", "shell", "sh", "run", "exec", "terminal", "command", "zsh", "powershell", "cmd", "console"})
_PROGRAMS = (
    r"(?:rm|mv|cp|mkdir|rmdir|touch|chmod|chown|ln|tee|dd|kill|pkill)\b",
    r"git\s+(?:commit|push|merge|rebase|reset|checkout|tag|add|stash|revert|clone)\b",
    r"(?:npm|yarn|pnpm|pip3?|uv|apt(?:-get)?|brew|cargo|gem)\s+(?:i|install|add|remove|uninstall|publish|update|upgrade|sync)\b",
    r"sed\s+-i\b",
    r"docker\s+(?:run|build|push|rm|stop|compose)\b",
    r"kubectl\s+(?:apply|delete|create|scale|rollout)\b",
    r"terraform\s+(?:apply|destroy)\b",
    r"systemctl\s+\w+",
    r"(?:curl|http)\b.{0,200}?-X\s{0,9}(?:POST|PUT|PATCH|DELETE)\b",
)
_CHANGES = re.compile(rf"(?:^|[;&|(\n]\s{{0,9}}|\b(?:sudo|xargs)\s+)(?:{'|'.join(_PROGRAMS)})|[^->&\d]>{{1,2}}\s{{0,9}}[\w./~]")
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+(?![a-z])")


def _action(call: Call) -> str:
    """Give a side-effecting call in one short line, or nothing."""
    name = call.name
    if name.startswith("lcm_"):
        return ""
    words = [word.casefold() for word in _WORD.findall(name)]
    arguments = _arguments(call.arguments)
    if words and words[0] in _READS:
        return ""
    if any(word in _SHELLS for word in words):
        command = next((str(value) for key, value in arguments if key in ("command", "cmd", "script", "code", "input", "")), "")
        if not _CHANGES.search(command):
            return ""
    elif not any(word in _WRITES for word in words):
        return ""
    return _written(name, arguments)


def _arguments(text: str) -> list[tuple[str, Any]]:
    if len(text) > 1_000_000:
        return []
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return [("", text)] if text.strip() else []
    return list(value.items()) if isinstance(value, dict) else [("", value)]


def _written(name: str, arguments: Sequence[tuple[str, Any]]) -> str:
    """Write a call with its short arguments, whole; what is long is named by its size."""
    shown: list[str] = []
    size = len(name) + 2
    for key, value in arguments:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = text if len(text) <= 120 and "\n" not in text else f"<{len(text)} characters>"
        part = f"{key}={text}" if key else text
        if size + len(part) + 2 > LONGEST:
            shown.append("…")
            break
        shown.append(part)
        size += len(part) + 2
    return f"{name}({', '.join(shown)})"


def _failures(sources: Sequence[Source]) -> set[tuple[int, int]]:
    """Give the place of each call whose answer says that it failed; an id may be used again, an answer belongs to the last."""
    open_calls: dict[str, tuple[int, int]] = {}
    failed: set[tuple[int, int]] = set()
    for at, source in enumerate(sources):
        for passage in source.passages:
            place = open_calls.pop(passage.call_id, None) if passage.role == "tool" else None
            if place is not None and passage.failed:
                failed.add(place)
        open_calls.update((call.id, (at, place)) for place, call in enumerate(source.calls))
    return failed
