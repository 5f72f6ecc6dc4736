"""Atoms: the exact strings that carry a fact, found by their shape alone.

Money, quantities, times, dates, hashes, ids, ``k=v`` pairs, paths, addresses, versions and plain numbers look alike in
every language; only units, month names and a few codes are words, and they are English. Every pattern is linear: each
alternative starts at the edge of a word and each run is bounded, so that no text makes the scan slow. A run of more
than :data:`BLOB` characters without a break (base64, a minified bundle) is no atom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from lossless.policies.units import CODES, MONEY_WORDS, MONTH_NAMES, MONTHS, SIGNS, UNITS

__all__ = ["BLOB", "NUMERIC", "Atom", "Value", "alike", "find_atoms", "normalise"]

BLOB = 300

NUMERIC = frozenset({"money", "quantity", "percent", "number"})
"""Kinds whose value is a number: compared as numbers, with their unit."""


class Atom(NamedTuple):
    """One atom of a text: its kind, and where it stands."""

    kind: str
    start: int
    end: int
    text: str


class Value(NamedTuple):
    """An atom in a form that no longer depends on how it was written: ``$1,200.00`` and ``1200 dollars`` are equal.

    ``unit`` is a currency, a unit of measure, ``%``, the year of a date, or empty.
    """

    core: str
    unit: str


def find_atoms(text: str) -> list[Atom]:
    """Find the atoms of a text, in order, without overlaps."""
    if len(text) > BLOB:
        text = _BLOB.sub(lambda blob: " " * (blob.end() - blob.start()), text)
    signal = _SIGNAL_OR_DAY if "day" in text else _SIGNAL
    search = _pattern().search
    found: list[Atom] = []
    reached = 0
    while (sign := signal.search(text, reached)) is not None:
        match = search(text, _start_before(text, sign.start(), reached))
        if match is None:
            break
        start, end = match.span()
        kind = _kind(match.lastgroup or "")
        if kind in _MEASURED:
            found.extend(_measured(text, kind, start, end))
        else:
            found.append(_trimmed(kind, start, match.group()))
        reached = max(found[-1].end, start + 1)
    return found


def _start_before(text: str, at: int, least: int) -> int:
    """Give where the atom around a sign may begin: where its word begins, or at a month or a currency before that."""
    own = text.rfind(" ", least, at)
    if own <= least:
        return least
    before = text.rfind(" ", least, own)
    lead = text[before + 1 : own] if own - before < 12 else ""
    return max(before, least) if lead.strip("(\"'.,:").casefold() in _LEADS else own


@lru_cache(maxsize=1 << 14)
def normalise(kind: str, text: str) -> Value:
    """Give the value of an atom, independent of thousands separators, currency spelling, AM/PM, month names and letter case."""
    if kind in NUMERIC:
        return _number(text)
    if kind == "time":
        return Value(_time(text), "")
    if kind == "date":
        return _date(text)
    if kind == "id":
        return Value(text.lstrip("#").casefold(), "")
    if kind == "path":
        return Value(text.rstrip("/").removeprefix("./") or text, "")
    return Value(text.casefold(), "")


def alike(wanted: Value, found: Value) -> bool:
    """Say whether ``found`` states ``wanted``: equal, and no unit contradicts the other."""
    if wanted.core != found.core:
        return False
    if wanted.unit == found.unit or not wanted.unit:
        return found.unit != "%" or wanted.unit == "%"
    return not found.unit and wanted.unit != "%" and (wanted.unit in _CURRENCIES or wanted.core.startswith("d"))


# --- values ---------------------------------------------------------------------------------------------------------------

_CURRENCIES = frozenset(MONEY_WORDS.values())
_SCALES = {"k": 3, "thousand": 3, "m": 6, "million": 6, "bn": 9, "billion": 9, "trillion": 12}
_SPACED = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3})")
_DIGITS = re.compile(r"\d[\d.,]*(?:[eE][+-]?\d+)?(?<![.,])")
_WORDS = re.compile(r"[^\W\d_]+|[$€£¥￥₹₩₽₿%°℃]+")


def _number(text: str) -> Value:
    text = _SPACED.sub("", text)
    match = _DIGITS.search(text)
    if match is None:
        return Value(text.casefold(), "")
    digits = _plain(match.group())
    unit = ""
    for word in _WORDS.findall((text[: match.start()] + " " + text[match.end() :]).casefold()):
        if word in MONEY_WORDS:
            unit = MONEY_WORDS[word]
        elif word in ("%", "percent"):
            unit = "%"
        elif word in _SCALES and (word != "m" or unit or text.rstrip()[-1:] not in "mM" or text[:1] in SIGNS):
            digits = _scaled(digits, _SCALES[word])
        elif word in UNITS:
            unit = UNITS[word]
    negative = text.lstrip()[:1] == "-"
    return Value(f"-{digits}" if negative else digits, unit)


def _plain(digits: str) -> str:
    """Write a number without separators: a comma before one or two last digits is a decimal comma, every other one groups."""
    head, comma, tail = digits.rpartition(",")
    if comma and len(tail) != 3 and "." not in tail:
        digits = f"{head.replace(',', '').replace('.', '')}.{tail}"
    else:
        digits = digits.replace(",", "")
        if digits.count(".") > 1:
            digits = digits.replace(".", "")
    if "." in digits and "e" not in digits.casefold():
        digits = digits.rstrip("0").rstrip(".")
    return digits.casefold()


def _scaled(digits: str, zeros: int) -> str:
    whole, _, fraction = digits.partition(".")
    if not (whole + fraction).isdecimal():
        return digits
    moved = fraction[:zeros].ljust(zeros, "0")
    rest = fraction[zeros:].rstrip("0")
    return (whole + moved).lstrip("0") + (f".{rest}" if rest else "")


_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}(?:[.,]\d+)?))?\s?([AaPp])?")


def _time(text: str) -> str:
    match = _CLOCK.match(text.replace("時", ":").replace("分", ""))
    if match is None:
        return text.casefold()
    hour, minute, second, half = match.groups()
    hours = int(hour)
    if half:
        hours = hours % 12 + (12 if half in "Pp" else 0)
    seconds = f":{second}" if second and second.strip("0.,") else ""
    shift = re.search(r"[+-]\d.*", text)
    return f"t{hours:02d}:{minute or '00'}{seconds}{shift.group() if shift else ''}"


_ISO = re.compile(r"(\d{4})[-/年](\d{1,2})(?:[-/月](\d{1,2}))?(?:日?[T ](\d{2}:\d{2}.*))?")
_NUMBERS = re.compile(r"\d+")


def _date(text: str) -> Value:
    match = _ISO.match(text)
    if match:
        year, month, day, clock = match.groups()
        core = f"d{int(month):02d}-{int(day):02d}" if day else f"d{int(month):02d}"
        return Value(core + (_time(clock) if clock else ""), year)
    name = next((MONTHS[word[:3]] for word in re.findall(r"[a-z]+", text.casefold()) if word[:3] in MONTHS), None)
    numbers = _NUMBERS.findall(text)
    if name is None or not numbers:
        return Value(text.casefold(), "")
    year = next((number for number in numbers if len(number) == 4), "")
    day = next((number for number in numbers if len(number) < 3), "")
    return Value(f"d{name:02d}-{int(day):02d}" if day else f"d{name:02d}", year)


# --- shapes ---------------------------------------------------------------------------------------------------------------

_SIGNS_OF_ATOMS = rf"[\d@/\\=#{''.join(SIGNS)}]|\.[A-Za-z]"
_SIGNAL = re.compile(_SIGNS_OF_ATOMS)
_SIGNAL_OR_DAY = re.compile(rf"{_SIGNS_OF_ATOMS}|day\b")
_LEADS = frozenset(CODES) | frozenset(MONTHS) | frozenset(MONTH_NAMES)
_MEASURED = frozenset({"number", "attached", "decimal"})
_UNIT_AFTER = re.compile(
    rf"[ \u00a0-]?(?:([円元원])|((?:[^\W\d_]|[{''.join(SIGNS)}%°℃]){{1,12}})"
    r"(?:/(?:s|h|min|day|month|year)(?![A-Za-z0-9_]))?(?![A-Za-z0-9_]))"
)
_SUFFIX = re.compile(r"[^\d.,]+$")


def _measured(text: str, kind: str, start: int, end: int) -> tuple[Atom, ...]:
    """Read a number with the unit, currency or percent sign that may follow it."""
    digits = text[start:end]
    known = "number"
    if kind == "attached":  # 5kg, 250ms, 10k; anything else is an id such as 59xx
        suffix = _SUFFIX.search(digits)
        unit = suffix.group().casefold() if suffix else ""
        known = _measure(unit) or ("number" if unit in _SCALES else "")
        if not known:
            return (Atom("id", start, end, digits),)
    after = _UNIT_AFTER.match(text, end)
    if after is not None and (measure := _measure((after.group(1) or after.group(2)).casefold())):
        known, end = measure, after.end()
    elif kind == "decimal":  # no unit: two numbers with a comma between
        comma = digits.index(",")
        return (Atom("number", start, start + comma, digits[:comma]), Atom("number", start + comma + 1, end, digits[comma + 1 :]))
    return (Atom(known, start, end, text[start:end]),)


def _measure(word: str) -> str:
    """Say what a word after a number makes of it: ``money``, ``percent``, ``quantity``, or nothing."""
    if word in MONEY_WORDS:
        return "money"
    if word in ("%", "percent"):
        return "percent"
    return "quantity" if word in UNITS else ""


def _trimmed(kind: str, start: int, text: str) -> Atom:
    """Leave the punctuation of the sentence out of an address or a path."""
    if kind == "url":
        text = text.rstrip(".,;:!?)]}'\"")
    elif kind in ("path", "kv"):
        text = text.rstrip(".")
    return Atom(kind, start, start + len(text), text)


def _any(words: Iterable[str]) -> str:
    return f"(?i:{'|'.join(re.escape(word) for word in words)})"


_EXTENSIONS = (
    "py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|json|jsonl|ndjson|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|log|csv|tsv|xml|html?|css|scss|sql|"
    "db|sqlite3?|parquet|arrow|sh|bash|zsh|ps1|bat|rb|php|java|kt|scala|go|rs|cc|cpp|hpp|cs|swift|jl|lua|pl|ex|exs|hs|tf|proto|"
    "gradle|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|webp|svg|bmp|mp[34]|wav|zip|gz|tgz|tar|bz2|xz|7z|whl|jar|exe|dll|so|bin|pem|key|crt"
)
_END = r"(?![A-Za-z0-9_]|\.\d)"
_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,9}(?:\.\d{1,30})?(?![\d,]\d)|\d{1,3}(?:\.\d{3}){1,9},\d{1,2}|\d{1,60}(?:\.\d{1,30})?)"
_LARGE = r"(?:\s?(?i:k|m|bn|thousand|million|billion|trillion)(?![A-Za-z0-9_]))"
_SIGN = f"[{''.join(SIGNS)}]"
_MONTH = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_HOURS = r"\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?"
_UUID = rf"[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_END}"
_HEX = rf"(?:sha(?:1|256|512):)?(?=[a-fA-F0-9]{{0,127}}[a-fA-F])(?=[a-fA-F]{{0,127}}\d)[0-9a-fA-F]{{7,128}}{_END}"
_MIXED = (
    r"(?=[A-Za-z_-]{0,64}\d)(?=[\d_-]{0,64}[A-Za-z])"
    rf"[A-Za-z0-9]{{1,64}}(?:[_:-][A-Za-z0-9]{{1,64}}|\.\d{{1,9}}){{0,12}}{_END}"
)
_EMAIL = r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6}"
_FILE = (
    rf"(?<![\w./~:@-])(?:(?:[\w.@+-]{{1,128}}/){{1,40}}[\w@+-][\w.@+-]{{0,128}}\.[A-Za-z]\w{{0,7}}{_END}"
    rf"|[\w-]{{1,128}}(?:\.[\w-]{{1,64}}){{0,4}}\.(?:{_EXTENSIONS})(?![\w-]|\.\w)|[\w-]{{2,128}}\.[chr](?![\w-]|\.\w))"
)

_MORE = r"\s?(?i:[ap]\.?m\b|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|of\s|thousand|million|billion|trillion)"

_DIGIT_FIRST = (
    ("money", rf"\d{{1,3}}(?:[ \u00a0\u202f]\d{{3}}){{1,6}}(?:[.,]\d{{1,2}})?\s?(?:{_SIGN}|{_any(CODES)}\b)"),
    ("number", rf"\d{{1,18}}(?=[\s)\]!?;\"']|[.,]\s|[.,]?$)(?!{_MORE})"),  # most numbers are nothing but that
    ("hash", _UUID),
    ("date", rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_HOURS})?{_END}|\d{{4}}/\d{{1,2}}/\d{{1,2}}{_END}"),
    ("date", r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"),
    ("date", rf"\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}}){_END}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}{_END}|\d{{1,2}}月\d{{1,2}}日"),
    ("date", rf"{_DAY}\s(?:of\s)?{_MONTH}\b(?:,?\s\d{{4}}{_END})?"),
    ("time", r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:[+-]\d{1,2}(?::\d{2})?)?(?![A-Za-z0-9_:])"),
    ("time", r"\d{1,2}\s?(?:[AaPp][Mm]\b|[AaPp]\.[Mm]\.)|\d{1,2}時(?:\d{1,2}分)?"),
    ("email", _EMAIL),
    ("path", _FILE),
    ("id", r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|/\d{1,2})?(?![\w.]*\w)"),
    ("version", r"\d{1,9}(?:\.\d{1,9}){2,5}(?:[-+][\w.]{1,40})?(?![\w.]*\w)"),
    ("number", rf"\d{{1,60}}(?:\.\d{{1,30}})?[eE][+-]?\d{{1,3}}{_END}"),
    ("hash", rf"0x[0-9a-fA-F]{{1,128}}{_END}|{_HEX}"),
    ("ordinal", rf"\d{{1,3}}(?:st|nd|rd|th){_END}"),
    ("attached", rf"{_NUMBER}[A-Za-zµμ]{{1,8}}(?![\w:-]|\.\d)"),
    ("id", _MIXED),
    ("decimal", rf"\d{{1,60}},\d{{1,2}}(?![\d,]|\.\d)(?=\s?[A-Za-z%°℃{''.join(SIGNS)}])"),
    ("number", rf"{_NUMBER}(?:\s(?i:thousand|million|billion|trillion)\b)?{_END}"),
)
_LETTER_FIRST = (
    ("url", rf"[A-Za-z][A-Za-z0-9+.-]{{1,20}}://[^\s<>\"'`|]{{1,{BLOB}}}|www\.[^\s<>\"'`|]{{3,{BLOB}}}"),
    ("email", _EMAIL),
    ("date", rf"{_MONTH}(?:\.?\s{_DAY}(?:,?\s\d{{4}})?|,?\s\d{{4}}){_END}"),
    ("hash", _UUID),
    ("path", rf"[A-Za-z]:\\[^\s<>\"'`|*?;,]{{1,{BLOB}}}|{_FILE}"),
    (
        "kv",
        r"(?<![./-])[A-Za-z_][\w.-]{0,63}=(?!=)"
        rf"(?:\"[^\"\n]{{1,120}}\"|'[^'\n]{{1,120}}'|[^\s,;&|<>\"'=(){{}}\[\]][^\s,;&|<>\"'(){{}}\[\]]{{0,{BLOB}}})",
    ),
    ("money", rf"{_any(CODES)}\s?{_NUMBER}{_END}"),
    ("version", rf"[vV]\d{{1,9}}(?:\.\d{{1,9}}){{0,5}}(?:[-+][\w.]{{1,40}})?{_END}"),
    ("hash", _HEX),
    ("id", rf"(?<!-){_MIXED}"),
)
_SIGN_FIRST = (
    ("money", rf"(?<![A-Za-z0-9_])-?{_SIGN}\s?{_NUMBER}{_LARGE}?"),
    ("id", r"(?<![\w#])#(?:\d{1,20}|(?=[\w-]{0,64}\d)[\w-]{1,64})(?![\w-])"),
    ("path", r"(?<![\w./~:-])(?:~|\.{1,2})?(?:/[\w.@+%=-]{1,128}){2,40}/?|(?<![\w./~:-])(?:~|\.{1,2})/[\w.@+-]{1,128}(?![\w/])"),
    ("path", r"(?<![\w./~@:-])/[a-z][\w.-]{1,128}(?![\w/])|(?<![\w.])\.[a-z][\w-]{2,40}(?:\.[a-z]{2,8})?(?![\w.])"),
    ("number", rf"(?<![A-Za-z0-9_)\].,])[-+]{_NUMBER}{_END}"),
)


@cache
def _pattern() -> re.Pattern[str]:
    """Compile the one pattern, once and late; the first character decides which shapes are tried."""
    plain = r"(?![A-Za-z]{1,40}[,;:!?).]{0,2}(?:\s{1,2}[^\d\s]|\s*$))"  # most words of prose are left at once
    families = (
        (r"(?=\d)(?<![A-Za-z0-9_])", _DIGIT_FIRST),
        (r"(?=[A-Z])(?<![A-Za-z0-9_])", (("date", r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"),)),
        (rf"(?=[A-Za-z_])(?<![A-Za-z0-9_]){plain}", _LETTER_FIRST),
        (rf"(?=[{''.join(SIGNS)}#~./+-])", _SIGN_FIRST),
    )
    written: list[str] = []
    at = 0
    for guard, shapes in families:
        named = []
        for kind, shape in shapes:
            at += 1
            named.append(f"(?P<{kind}{at}>{shape})")
        written.append(f"{guard}(?:{'|'.join(named)})")
    return re.compile("|".join(written))


@cache
def _kind(group: str) -> str:
    return group.rstrip("0123456789")


_BLOB = re.compile(rf"[^\s,;{{}}\[\]\"'|<>()]{{{BLOB + 1},}}")
