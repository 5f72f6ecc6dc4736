"""The verbatim codec: any payload a person can give becomes bytes, and the same payload again.

Plain JSON values are written as JSON. What JSON can't say is written as a tagged object ``{"$lossless": tag, "v": ...}``:
tuples, bytes, sets, dicts with other keys than strings, decimals, UUIDs, dates and times, integers too long for a JSON parser.
A given dict that itself has the key ``$lossless`` is tagged too, so that no payload can be taken for one of ours. Text is UTF-8
with lone surrogates passed through. Decoding constructs only the types named in ``_DECODERS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from lossless.errors import CorruptError, MessageError

__all__ = ["MAX_DEPTH", "TAG", "canonical", "canonical_equal", "decode", "encode", "json_text"]

TAG = "$lossless"
MAX_DEPTH = 200
_LONG = 10**600  # a JSON parser refuses longer integers: by default over 4 300 digits, at its strictest setting over 640
_SCALARS = (str, bool, float, type(None))
_CONTAINERS: tuple[type[Any], ...] = (dict, list, tuple, set, frozenset, bytes)
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError)


def encode(value: Any) -> bytes:
    """Write a payload as bytes that :func:`decode` turns into an equal value, key order and number types included.

    A subclass of a plain type (an enum of strings, an ordered dict, a named tuple) is kept as the plain value that equals it.

    Raises:
        MessageError: a value in it has a type that can't be kept (the message names its path), or it is nested over 200 levels.
    """
    if not _is_plain(value, MAX_DEPTH):
        value = _tagged(value, "payload", MAX_DEPTH)
    return _dump(value).encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Any:
    """Read bytes that :func:`encode` wrote.

    Raises:
        CorruptError: the bytes are not a payload.
    """
    try:
        text = data.decode("utf-8", "surrogatepass")
        try:
            return _parse(text)
        except RecursionError:
            return _parse_afresh(text)
    except _UNREADABLE as error:
        raise CorruptError(f"stored payload can't be read: {error}", hint="run `lossless verify`") from error


def canonical(value: Any) -> bytes:
    """Write a payload as bytes that are equal for equal payloads, whatever the order of their keys; not meant to be decoded.

    Raises:
        MessageError: as :func:`encode`.
    """
    return _dump(_ordered(_tagged(value, "payload", MAX_DEPTH)), sort_keys=True).encode("utf-8", "surrogatepass")


def canonical_equal(a: Any, b: Any) -> bool:
    """Tell whether two payloads are equal but for key order; ``1``, ``1.0`` and ``True`` differ, NaN equals NaN.

    Raises:
        MessageError: as :func:`encode`.
    """
    return a is b or canonical(a) == canonical(b)


def json_text(value: Any) -> str:
    """Write any value as JSON for reading and searching; never raises, and writes what JSON can't say in words."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_in_words)
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return _dump(_tagged(value, "payload", MAX_DEPTH))
    except (MessageError, ValueError, RecursionError):
        return json.dumps(f"a value of type {type(value).__qualname__}")


def _in_words(value: Any) -> str:
    if isinstance(value, (datetime, date, time, Decimal, UUID)):
        return str(value)
    return repr(value) if isinstance(value, (bytes, set, frozenset, timedelta)) else f"a value of type {type(value).__qualname__}"


def _dump(value: Any, sort_keys: bool = False) -> str:
    return (_IN_ORDER if sort_keys else _AS_GIVEN).encode(value)


# Made once; what they are given was looked through before, so that it can't contain itself.
_AS_GIVEN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_IN_ORDER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, sort_keys=True)


def _parse(text: str) -> Any:
    decoder = _TAGGED if TAG in text else _PLAIN
    value, end = decoder.raw_decode(text)  # looking for white space around it takes longer than a short payload does
    return value if end == len(text) else decoder.decode(text)


def _parse_afresh(text: str) -> Any:
    """Parse in a thread of its own: where the caller is deep in a recursion, what encode accepted still fits into a new stack."""

    def parse() -> Any:
        try:
            return _parse(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None

    with ThreadPoolExecutor(1) as fresh:
        return fresh.submit(parse).result()


def _is_plain(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is int:
        return bool(-_LONG < value < _LONG)
    if depth <= 0:
        return False
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str or key == TAG:
                return False
            if type(inner) is not str and not _is_plain(inner, depth - 1):
                return False
        return True
    return kind is list and all(_is_plain(inner, depth - 1) for inner in value)


def _tagged(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if -_LONG < value < _LONG else {TAG: "int", "v": hex(value)}
    if depth <= 0:
        raise MessageError(f"the payload is nested over {MAX_DEPTH} levels deep, or contains itself", hint="flatten it")
    if kind is dict:
        if all(isinstance(key, str) and key != TAG for key in value):
            return {str.__str__(key): _tagged(inner, f"{path}.{key}", depth - 1) for key, inner in value.items()}
        pairs = [[_tagged(k, f"{path} key", depth - 1), _tagged(v, f"{path}[{k!r:.40}]", depth - 1)] for k, v in value.items()]
        return {TAG: "dict", "v": pairs}
    if kind is list or kind is tuple:
        inner = [_tagged(each, f"{path}[{index}]", depth - 1) for index, each in enumerate(value)]
        return inner if kind is list else {TAG: "tuple", "v": inner}
    if kind is set or kind is frozenset:
        members = [_tagged(each, f"{path} member", depth - 1) for each in value]
        return {TAG: kind.__name__, "v": sorted(members, key=_dump)}  # the order of a set differs between processes
    for known, tag, write in _ENCODERS:
        if kind is known:
            return {TAG: tag, "v": write(value)}
    return _subclass(value, path, depth)


def _subclass(value: Any, path: str, depth: int) -> Any:
    """Write a subclass of a plain type as the plain value that equals it."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _tagged(int.__index__(value), path, depth)
    if isinstance(value, float):
        return float.__float__(value)
    for plain in _CONTAINERS:
        if isinstance(value, plain):
            return _tagged(plain(value), path, depth)
    if isinstance(value, bytearray):
        return _tagged(bytes(value), path, depth)
    for known, tag, write in _ENCODERS:
        if isinstance(value, known):
            written = write(value)
            if bool(_DECODERS[tag](written) == value):  # a subclass may know more than the plain type: a time in nanoseconds
                return {TAG: tag, "v": written}
    raise MessageError(
        f"{path:.200} has the type {type(value).__qualname__}, which can't be kept verbatim",
        hint="give plain Python values; of an SDK object, its model_dump()",
    )


def _ordered(value: Any) -> Any:
    """Sort the pairs of tagged dicts; the keys of plain ones are sorted when written."""
    if type(value) is list:
        return [_ordered(inner) for inner in value]
    if type(value) is not dict:
        return value
    if value.get(TAG) == "dict":
        return {TAG: "dict", "v": sorted(([_ordered(key), _ordered(inner)] for key, inner in value["v"]), key=_sorted_dump)}
    return {key: _ordered(inner) for key, inner in value.items()}


def _sorted_dump(value: Any) -> str:
    return _dump(value, sort_keys=True)


def _moment(value: datetime | time) -> Any:
    """Write a time; with its zone's name and its fold where the offset alone would not make an equal value."""
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else None
    return [value.isoformat(), value.fold, zone] if zone or value.fold else value.isoformat()


def _read_moment(kind: type[datetime] | type[time]) -> Callable[[Any], datetime | time]:
    def read(value: Any) -> datetime | time:
        if isinstance(value, str):
            return kind.fromisoformat(value)
        text, fold, zone = value
        found = kind.fromisoformat(text).replace(fold=fold)
        if zone is None:
            return found
        try:
            return found.replace(tzinfo=ZoneInfo(zone))
        except _UNREADABLE:  # a machine without this zone: the offset still names the same moment
            return found

    return read


def _read_int(value: Any) -> int:
    return int(value, 16)


def _read_delta(value: Any) -> timedelta:
    days, seconds, microseconds = value
    return timedelta(days, seconds, microseconds)


def _isoformat(value: Any) -> Any:
    return value.isoformat()


def _hex(value: Any) -> Any:
    return value.hex()


def _days(value: Any) -> Any:
    return [value.days, value.seconds, value.microseconds]


_ENCODERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (bytes, "bytes", _hex),
    (Decimal, "decimal", str),
    (UUID, "uuid", str),
    (datetime, "datetime", _moment),
    (date, "date", _isoformat),
    (time, "time", _moment),
    (timedelta, "timedelta", _days),
)

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "int": _read_int,
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "bytes": bytes.fromhex,
    "decimal": Decimal,
    "uuid": UUID,
    "datetime": _read_moment(datetime),
    "date": date.fromisoformat,
    "time": _read_moment(time),
    "timedelta": _read_delta,
}


def _untagged(found: dict[str, Any]) -> Any:
    if TAG not in found:
        return found
    return _DECODERS[found[TAG]](found["v"])


_PLAIN, _TAGGED = json.JSONDecoder(), json.JSONDecoder(object_hook=_untagged)
