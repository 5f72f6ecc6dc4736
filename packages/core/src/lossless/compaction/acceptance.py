"""Whether what a model wrote may become a note at all. Pure; ``escalation`` then looks at what the note became.

A leading block of reasoning is taken off, as reasoning models put one in front of every answer; reasoning anywhere else,
refusals, echoes, turns that go on with the conversation, endless repetition and obedience to what the transcript says are
rejected. Each rule errs on the side of letting a note pass: what it lacks is completed from the sources, while a rejected one
costs a call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lossless.policies.words import content_words

__all__ = ["cleaned", "objection"]


def cleaned(answer: str, mark: str) -> str:
    """Take off what is no part of a summary: leading reasoning, the frame, a preface, and a code fence around all of it.

    Args:
        answer: what the model wrote.
        mark: of the frame that the transcript was in.
    """
    text = _LEADING.sub("", answer.strip(), count=1).strip()
    while (token := _TURN_TOKEN.search(text, max(0, len(text) - _LONGEST_TOKEN))) is not None and token.end() == len(text):
        text = text[: token.start()].rstrip()
    if mark and mark in text:
        text = re.sub(rf"(?:-{{1,3}}[^\S\n]?)?(?:transcript )?{mark}(?: (?:begins|ends))?(?:[^\S\n]?-{{1,3}})?", "", text)
    text = _PREFACE.sub("", text.lstrip(), count=1)
    fence = _FENCE.fullmatch(text.strip())
    return (fence.group(1) if fence else text).strip()


def objection(text: str, source: str, instructions: str) -> str | None:
    """Say why a cleaned answer can't be a summary, or None.

    Args:
        text: the answer.
        source: the transcript, without its frame.
        instructions: what the model was told.
    """
    if not text:
        return "the answer is blank"
    if not any(map(str.isalnum, text)):
        return "the answer has no words"
    if (tag := _REASONING.search(text)) is not None and tag.group() not in source:
        return "the answer carries its reasoning"
    if (token := _TURN_TOKEN.search(text)) is not None and token.group() not in source:
        return "the answer runs on past its end"
    if _REFUSAL.match(text) is not None and len(text) < _LONGEST_REFUSAL:
        return "the answer is a refusal"
    words = _words(text)
    if _repeats_itself(text, words):
        return "the answer repeats itself"
    if _copies(words, _words(instructions), _SHORT_COPY):
        return "the answer echoes the instructions"
    if _OUR_FRAME.match(text) is not None or text.startswith(source[: source.find("\n") + 1] or "\n"):
        return "the answer echoes its source"
    if any(line.group(1) not in source for line in _TURN.finditer(text)):
        return "the answer goes on with the conversation"
    if len(words) >= _LONG_COPY and _copies(words, _words(source), _LONG_COPY):
        return "the answer echoes its source"
    if _obeys(text, words, source):
        return "the answer obeys the transcript"
    return None


# --- reasoning and refusals -----------------------------------------------------------------------------------------------

_TAGS = r"think|thinking|thought|reasoning|reflection|scratchpad|analysis"
_LEADING = re.compile(rf"\A(?:<({_TAGS})>.*?(?:</\1>|\Z)|(?:(?!<(?:{_TAGS})>).)*</(?:{_TAGS})>)", re.DOTALL | re.IGNORECASE)
"""A block at the beginning, also one that was cut off, or whose opening tag stood in the model's own template."""
_REASONING = re.compile(rf"</?(?:{_TAGS})>|<\|channel\|>|◁/?think▷|\[/?THINK\]", re.IGNORECASE)
_TURN_TOKEN = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|end|assistant|user|system|start_header_id|end_header_id)\|>"
    r"|</?(?:start|end)_of_turn>|\[/?INST\]|</?s>"
)
"""What separates turns in the templates of models; a server that does not know a model's template lets it through."""
_LONGEST_TOKEN = 20
_PREFACE = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok)\b[,.!:]?\s{0,3})?"
    r"(?:here(?:['’]s| is| are)|below is|this is|the following is)\b"
    r"[^\n:.]{0,80}\b(?:summary|summaries|notes?|bullets|points|overview)\b[^\n:.]{0,60}:\s*\n?",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```\w{0,12}\n(.*)\n```", re.DOTALL)

_LONGEST_REFUSAL = 600
"""Characters: a long answer that begins with a refusal goes on to say something."""
_ABLE = r"(?:can(?:not|['’]t| not)|am (?:unable|not able) to|(?:won['’]t|will not)(?: be able to)?|(?:could|can) ?n['’]t)"
_DO = (
    r"(?:help|assist|comply|do (?:that|this)|summari[sz]e|fulfil|provide|process|complete|continue|engage|create|write|share"
    r"|discuss)"
)
_REFUSAL = re.compile(
    rf"\W*(?:(?:i['’]?m |i am )?(?:very |so |truly )?(?:sorry|apologi[sz]e)|(?:my )?apologies|unfortunately)\b.{{0,80}}?\b"
    rf"(?:{_ABLE}|unable|not able)"
    rf"|\W*i {_ABLE}(?: \w+){{0,2}} {_DO}\b"
    r"|\W*(?:as|i['’]m|i am) an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\W*(?:there is|i see|i don['’]t see|i (?:do not|don['’]t) have) (?:no|any) (?:text|transcript|conversation|content)\b"
    r"|\W*(?:please )?(?:provide|share|paste|send)(?: me)?(?: with)? (?:the|your|a) (?:text|transcript|conversation)\b"
    r"|\W*(?:es tut mir leid|lo siento|je suis désolé|désolé|mi dispiace|desculpe|sinto muito|het spijt me)\b.{0,60}?\b"
    r"(?:kann|puedo|peux|posso|kan)\b"
    r"|\W*(?:很?抱歉|对不起|對不起|申し訳|죄송)",
    re.IGNORECASE | re.DOTALL,
)

# --- echoes ---------------------------------------------------------------------------------------------------------------

_OUR_FRAME = re.compile(r"<summary id=\"sum_[^>]*>[^<]*</summary>\s*\Z|--- transcript \w+ (?:begins|ends) ---")
_TURN = re.compile(r"^(\[\S{1,200} (?:user|assistant|tool|system|developer)\])[^\S\n]*$", re.MULTILINE)
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W\u2e80-\u9fff\uac00-\ud7af]+")
_RUN = 8
_SHORT_COPY, _LONG_COPY = 12, 40
"""Words: less than that may be the same by chance, or be a sentence that is worth keeping."""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _copies(words: Sequence[str], source: Sequence[str], least: int) -> bool:
    """Say whether nearly all of a text is one stretch of its source, or two; a selection of sentences comes from many places."""
    if len(words) < least or len(source) < _RUN:
        return False
    places: dict[tuple[str, ...], int] = {}
    for at in range(len(source) - _RUN + 1):
        places.setdefault(tuple(source[at : at + _RUN]), at)
    found, jumps, before = 0, 0, -2
    for at in range(len(words) - _RUN + 1):
        place = places.get(tuple(words[at : at + _RUN]))
        if place is None:
            continue
        found += 1
        jumps += place != before + 1
        before = place
    return found >= 0.85 * (len(words) - _RUN + 1) and jumps <= 2


def _repeats_itself(text: str, words: Sequence[str]) -> bool:
    """Say whether a text runs in circles, as small models do."""
    if len(words) >= 60:
        runs = Counter(tuple(words[at : at + 4]) for at in range(len(words) - 3))
        if len(runs) < 0.25 * (len(words) - 3):
            return True
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return len(lines) >= 12 and len(set(lines)) < 0.3 * len(lines)


# --- obedience ------------------------------------------------------------------------------------------------------------

_NODS_TEXT = (
    "ok okay sure yes no done understood acknowledged noted ready certainly absolutely thanks great alright affirmative "
    "confirmed roger agreed hello hi null none true false"
)
_NODS = frozenset(_NODS_TEXT.split())
_ORDER = re.compile(
    r"\b(?:reply|respond|answer|output|print|say|write|return|repeat|summari[sz]e)\b|\b(?:antworte|responde|répond)",
    re.IGNORECASE,
)
_ORDER_REACH = 200
_SHORT_ANSWER = 12
_MOST_PLACES = 1_000


def _obeys(text: str, words: Sequence[str], source: str) -> bool:
    """Say whether a short answer is a mere nod, what an order in the transcript asks for, or one word from nowhere."""
    if len(words) > _SHORT_ANSWER:
        return False
    if all(word in _NODS for word in words):
        return True
    folded, told = source.casefold(), text.casefold().strip(" \t\n\"'“”‘’`.!*")
    at = folded.find(told) if told else -1
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        line = max(folded.rfind("\n", 0, at) + 1, at - _ORDER_REACH)
        if _ORDER.search(folded, line, at):
            return True
        at = folded.find(told, at + 1)
    said = set(content_words(text))
    return len(said) <= 1 and not said & set(content_words(source)) and len(source) > 40 * len(text)
