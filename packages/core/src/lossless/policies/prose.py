"""Facts in running text: short, whole, quotable spans around the atoms, in the words of the source."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lossless.policies.atoms import Atom, find_atoms
from lossless.policies.words import CONDITION, CONSTRAINT, ERROR, HEDGE, NEGATION, STRONG_CONSTRAINT, content_words, plain_words

__all__ = ["Fact", "facts", "masked", "placed", "sentences"]

LONGEST = 240
"""Characters of a fact; what must not be divided (a hedge, a negation, a condition) may be twice as long."""


class Fact(NamedTuple):
    """A candidate for a source item: where it stands in the text, and what it says."""

    kind: str
    start: int
    end: int
    text: str
    hedged: bool
    atoms: tuple[Atom, ...]
    question: bool


def facts(text: str, role: str) -> Iterator[Fact]:
    """Find the facts of a text written by ``user`` or answered by ``tool``, in order, without overlaps."""
    told = role != "tool"
    hints = _hints(text.casefold())
    head = ""
    start = 0
    for line in text.split("\n"):
        if head and not _LISTED.match(line):
            head = ""
        if line and (hints or ": " in line or _SHAPED.search(line)):
            yield from _of_line(line, start, told, head)
        if told and line.endswith((":", ":**")):
            head = _head(line)
        start += len(line) + 1


def sentences(line: str) -> Iterator[tuple[int, int]]:
    """Give start and end of each sentence of a line; an abbreviation or a decimal point ends none."""
    begin = 0
    for match in _SENTENCE_END.finditer(line):
        stop = match.start() + 1
        if line[match.start()] == "." and _ABBREVIATION.search(line, max(begin, stop - 9), stop):
            continue
        yield begin, stop
        begin = match.end()
    if begin < len(line):
        yield begin, len(line)


def placed(fact: Fact) -> tuple[Atom, ...]:
    """Give the atoms with their places in the fact's own text."""
    found: list[Atom] = []
    cursor = 0
    for atom in fact.atoms:
        at = fact.text.find(atom.text, cursor)
        if at >= 0:
            cursor = at + len(atom.text)
            found.append(Atom(atom.kind, at, cursor, atom.text))
    return tuple(found)


# --- lines and sentences --------------------------------------------------------------------------------------------------

_SHAPED = re.compile(r"[0-9@\\#=$€£¥₹%]|/\w|day\b|\w\.\w")
_HINTS = (
    "must never only unless except without require forbidden prohibit mandatory allowed permitted exceed at|most at|least at|the",
    "limit max min shall should always ensure make|sure avoid prefer instead budget first| before after until by| since up|to",
    "do|not don't don’t cannot can't can’t can|not isn't isn’t is|not aren't aren’t are|not wasn't wasn’t was|not weren't",
    "weren’t were|not |than next|to left|of right|of north|of south|of east|of west|of ahead|of behind|of front|of adjacent",
    "opposite directly error exception fail fatal panic traceback denied found no|such timed|out exit| fault warning",
    "git| npm docker pip| kubectl curl| rm|- ls|-",
)
_HINT_WORDS = tuple(word.replace("|", " ") for group in _HINTS for word in group.split())


def _hints(folded: str) -> bool:
    """Say whether any line can hold a constraint, an error or a command: a few substring searches spare a regex on every line."""
    return any(word in folded for word in _HINT_WORDS)


_SENTENCE_END = re.compile(r"[.!?…;。！？；](?:(?<=[。！？；])|['\")\]*_]{0,3}(?=\s))\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[^\w.])(?:[a-z]|nos?|nr|mr|mrs|ms|dr|prof|st|vs|approx|ca|incl|excl|etc|fig|vol|pp?|art|sec|dept|inc|ltd|co|jr|sr|e\.g|i\.e|[ap]\.m"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:(?:[-*•–—>]|#{1,6}|\d{1,3}[.)]|[a-z]\)|\[[ xX]?\])\s+)*")
_LINE_NUMBER = re.compile(r"\s*\d{1,6}(?:→|\t|[:|]\s)")
_CODE_WORDS = "def|class|import|from|return|if|elif|else|for|while|const|let|var|function|public|private|static|async|await"
_CODE = re.compile(rf"\s*(?:(?:{_CODE_WORDS})\b|#include|//|/\*)")
_PROGRAMS = (
    "sudo |git |npm |npx |yarn |pnpm |pip3? |uv |docker |kubectl |helm |curl |wget |ssh |scp |rsync |pytest\\b|python3? |cargo "
    "|terraform |psql |sqlite3 |systemctl |apt(?:-get)? |brew |chmod |chown |mkdir |rm -|sed -|ls -"
)
_COMMAND = re.compile(rf"\s*(?:\$\s+(?=\S)|(?={_PROGRAMS}))")


def _of_line(line: str, start: int, told: bool, head: str) -> Iterator[Fact]:
    begin = 0
    if not told and (numbered := _LINE_NUMBER.match(line)):
        begin = numbered.end()
    code = not told and _is_code(line, begin)
    if (bullet := _BULLET.match(line, begin)) is not None:
        begin = bullet.end()
    if len(line) <= 2 * LONGEST and not code and _COMMAND.match(line, begin):
        command = line[begin:].strip()
        if command[-1:] not in ".?!":
            at = start + line.index(command, begin)
            yield Fact("command", at, at + len(command), command, False, tuple(find_atoms(command)), False)
            return
    leaf = None if code else _LEAF.match(line, begin)
    if leaf is not None and (leaf_atoms := _leaf_atoms(leaf)):
        yield Fact("kv", start + leaf.start(1), start + leaf.end(2), line[leaf.start(1) : leaf.end(2)], False, leaf_atoms, False)
        return
    for first, last in sentences(line[begin:] if begin else line):
        yield from _of_sentence(line[begin + first : begin + last], start + begin + first, told, code, head)


_LEAF = re.compile(r"\s*([^\W\d][\w /.()'-]{0,39}):[ \t]+([^\s?!.,;:{}\[\]<>=()][^?!,;:{}\[\]<>=()\d]{0,60})$")
_TYPE = re.compile(
    r"(?:str|int|float|bool|bytes|list|dict|tuple|set|None|Any|object|string|number|boolean|void|true|false)\b(?=\W|$)"
)
_NOT_A_KEY = frozenset({"note", "ps", "hi", "hello", "dear", "thanks", "example", "todo", "warning", "error", "info", "debug"})


def _leaf_atoms(leaf: re.Match[str]) -> tuple[Atom, ...]:
    """Give the value of a line ``Destination: Paris``, whose words are its atom; nothing where it is a clause or a type."""
    key, value = leaf.group(1), leaf.group(2).rstrip(" *_|")
    if len(key.split()) > 4 or len(value.split()) > 6 or key.casefold() in _NOT_A_KEY or _TYPE.match(value):
        return ()
    if any(sign in value for sign in "@/\\#$€£%") or not any(map(str.isalnum, value)):
        return ()
    return (Atom("word", leaf.start(2), leaf.start(2) + len(value), value),)


def _is_code(line: str, begin: int) -> bool:
    """Say whether a line that a tool printed looks like source code, where numbers are no facts; JSON that broke is not."""
    if line.endswith(("{", "}", ";", ",", "(", "[")):
        return '":' not in line
    return _CODE.match(line, begin) is not None


def _of_sentence(sentence: str, start: int, told: bool, code: bool, head: str) -> Iterator[Fact]:
    atoms = [atom for atom in find_atoms(sentence) if atom.kind != "ordinal"]
    words = plain_words(sentence)
    question = sentence.rstrip("\"')* ").endswith(("?", "？"))
    error = _may_fail(sentence) and ERROR.search(sentence) is not None
    limit = (CONSTRAINT if told else STRONG_CONSTRAINT).search(sentence, words) is not None
    if not atoms and (question or not (error or (limit and not code))):
        return
    if atoms and not told and not error and not _is_telling(sentence, atoms, code):
        return
    hedge = HEDGE.search(sentence, words)
    whole = error or limit or hedge or NEGATION.search(sentence, words) or CONDITION.search(sentence, words)
    longest = 2 * LONGEST if whole else LONGEST
    pieces = [(0, len(sentence))]
    if len(sentence) > longest or (len(atoms) > 1 and not whole):
        pieces = _pieces(sentence, atoms, longest, divide=not whole)
    label = head or (_label_of(sentence, atoms) if len(pieces) > 1 else "")
    at = 0
    for begin, end in pieces:
        inside: list[Atom] = []
        while at < len(atoms) and atoms[at].end <= end:
            inside.append(atoms[at])
            at += 1
        begin, end = _trim(sentence, begin, end, inside)
        text = sentence[begin:end]
        if not text or not (inside or (len(pieces) == 1 and (error or limit))):
            continue
        if label and (head or begin > 0) and not text.startswith(label):
            text = f"{label} {text}"
            inside = find_atoms(label) + inside
        if hedge is not None and not HEDGE.search(text):
            text = f"{hedge.group().strip()} … {text}"
        kind = _kind(inside, error=error, limit=limit)
        yield Fact(kind, start + begin, start + end, text, hedge is not None, tuple(inside), question)


def _may_fail(sentence: str) -> bool:
    folded = sentence.lower()
    return any(sign in folded for sign in _FAILING)


_FAILING = (
    "error",
    "fail",
    "exception",
    "traceback",
    "fatal",
    "panic",
    "denied",
    "found",
    "no such",
    "timed out",
    "exit ",
    "fault",
    "warning",
)


def _is_telling(sentence: str, atoms: Sequence[Atom], code: bool) -> bool:
    """Say whether a line that a tool printed states something: neither a line of code nor a time stamp before prose."""
    strong = [atom for atom in atoms if atom.kind != "number"]
    if code:
        return any(atom.kind in _IN_CODE for atom in strong)
    if len(strong) == len(atoms) and all(atom.kind in ("date", "time") and atom.end < 40 for atom in atoms):
        return len(sentence) <= 40 or ":" in sentence[atoms[-1].end :]
    return bool(strong) or bool(content_words(sentence))


_IN_CODE = frozenset({"url", "email", "money", "hash"})

_LISTED = re.compile(r"\s*(?:[-*•–]|\d{1,3}[.)])\s")


def _head(line: str) -> str:
    """Give the heading of the list that follows, where the meaning of its lines depends on it (``Considered, not bought:``)."""
    title = line.strip().strip("*# ")
    if len(title) > 80:
        return ""
    bullet = _BULLET.match(title)
    title = title[bullet.end() if bullet else 0 :].strip("* ")
    return title if NEGATION.search(title) or CONSTRAINT.search(title) or HEDGE.search(title) or find_atoms(title) else ""


def _label_of(sentence: str, atoms: Sequence[Atom]) -> str:
    """Give the words before the first colon, when they name what the whole enumeration belongs to (``Order A-1: …``)."""
    colon = sentence.find(": ", 0, 80)
    if colon < 0 or not any(atom.end <= colon for atom in atoms):
        return ""
    return sentence[: colon + 1].strip()


# --- pieces ---------------------------------------------------------------------------------------------------------------

_SEPARATOR = re.compile(r",\s+(?:and |plus |or )?|;\s*|、|\s(?:and|plus|&|\+)\s|\s[–—|]\s|\t")
_RANGE = re.compile(r"\b(?:between|from|both)\b[^,;]{0,40}$", re.IGNORECASE)
_LEANING = re.compile(r"\s*(?:it|they|this|that|which|who|he|she|these|those|there|then|so|each|respectively)\b", re.IGNORECASE)


def _pieces(sentence: str, atoms: Sequence[Atom], longest: int, *, divide: bool) -> list[tuple[int, int]]:
    """Divide an enumeration so that every piece has an atom and a word of its own; cut what is too long, never inside an atom."""
    segments = _segments(sentence, atoms)
    words_only = masked(sentence, atoms)
    starts = [atom.start for atom in atoms]
    alone = [
        bisect_left(starts, begin) < bisect_left(starts, end)
        and _LEANING.match(sentence, begin, end) is None
        and bool(content_words(words_only[begin:end]))
        for begin, end in segments
    ]
    pieces: list[tuple[int, int]] = []
    complete = False
    for (begin, end), stands in zip(segments, alone, strict=True):
        if pieces:
            first, last = pieces[-1]
            joined = not (divide and complete and stands) or _RANGE.search(sentence, max(first, last - 60), last) is not None
            if joined and end - first <= longest:
                pieces[-1] = (first, end)
                complete = complete or stands
                continue
        pieces.append((begin, end))
        complete = stands
    return [part for piece in pieces for part in _short(atoms, starts, *piece, longest, sentence)]


def _segments(sentence: str, atoms: Sequence[Atom]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    begin, at = 0, 0
    for match in _SEPARATOR.finditer(sentence):
        first, last = match.span()
        while at < len(atoms) and atoms[at].end <= first:
            at += 1
        if at < len(atoms) and atoms[at].start < last:
            continue
        found.append((begin, first))
        begin = last
    found.append((begin, len(sentence)))
    return found


def masked(sentence: str, atoms: Sequence[Atom]) -> str:
    """Give a sentence with white space in the place of its atoms."""
    written: list[str] = []
    reached = 0
    for atom in atoms:
        written += [sentence[reached : atom.start], " " * (atom.end - atom.start)]
        reached = atom.end
    return "".join([*written, sentence[reached:]])


def _short(
    atoms: Sequence[Atom], starts: Sequence[int], begin: int, end: int, longest: int, sentence: str
) -> Iterator[tuple[int, int]]:
    """Cut a piece at white space into parts of at most ``longest`` characters, or more where an atom is longer."""
    while end - begin > longest:
        cut = sentence.rfind(" ", begin + 1, begin + longest)
        cut = cut if cut > begin else begin + longest
        at = bisect_left(starts, cut) - 1
        if at >= 0 and atoms[at].start < cut < atoms[at].end:
            cut = atoms[at].start if atoms[at].start > begin else atoms[at].end
        yield begin, cut
        begin = cut
    yield begin, end


_EDGES = " \t\r\n,;:.!?*_-–—|>"


def _trim(sentence: str, begin: int, end: int, atoms: Sequence[Atom]) -> tuple[int, int]:
    """Leave out the punctuation around a piece, but nothing of an atom."""
    stop = atoms[-1].end if atoms else begin
    while end > stop and sentence[end - 1] in _EDGES:
        end -= 1
    stop = atoms[0].start if atoms else end
    while begin < stop and sentence[begin] in _EDGES:
        begin += 1
    return begin, end


_ORDER = ("money", "id", "hash", "path", "url", "email", "kv", "date", "time", "version", "quantity", "percent", "number")
_PUBLIC = {"email": "id", "percent": "quantity"}


def _kind(atoms: Sequence[Atom], *, error: bool, limit: bool) -> str:
    """Name the fact after what is hardest to lose in it."""
    if error:
        return "error"
    if limit:
        return "constraint"
    kinds = {atom.kind for atom in atoms}
    kind = next(kind for kind in _ORDER if kind in kinds)
    return _PUBLIC.get(kind, kind)
