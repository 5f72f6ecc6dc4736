"""The verbatim codec: any payload a person can give becomes bytes, and the same payload again.

Plain JSON values are written as JSON. What JSON can't say is written as a tagged object ``{"$lossless": tag, "v": ...}``:
tuples, bytes, sets, dicts with other keys than strings, decimals, UUIDs, dates and times, integers too long for a JSON parser.
A given dict that itself has the key ``$lossless`` is tagged too, so that no payload can be taken for one of ours. Text is UTF-8 with
lone surrogates passed through. Decoding constructs only the types named in ``_DECODERS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from lossless.errors import CorruptError, MessageError

__all__ = ["decode", "encode"]

TAG = "$lossless"
_LONG = 10**4000  # a JSON parser refuses integers over 4 300 digits
_SCALARS = (str, bool, float, type(None))


def encode(value: Any) -> bytes:
    """Write a payload as bytes that :func:`decode` turns into an equal value, key order and number types included.

    Raises:
        MessageError: a value in it has a type that can't be kept; the message names its path.
    """
    try:
        if not _is_plain(value):
            value = _tagged(value, "payload")
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise MessageError("the payload is nested too deeply or contains itself", hint="flatten it") from None
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> Any:
    """Read bytes that :func:`encode` wrote.

    Raises:
        CorruptError: the bytes are not a payload.
    """
    try:
        text = data.decode("utf-8", "surrogatepass")
        if TAG in text:
            return json.loads(text, object_hook=_untagged)
        return json.loads(text)
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
        raise CorruptError(f"stored payload can't be read: {error}", hint="run `lossless verify`") from error


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is dict:
        for key, inner in value.items():
            if type(key) is not str or key == TAG:
                return False
            if type(inner) is not str and not _is_plain(inner):
                return False
        return True
    if kind is list:
        return all(_is_plain(inner) for inner in value)
    if kind is int:
        return bool(-_LONG < value < _LONG)
    return False


def _tagged(value: Any, path: str) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is int:
        return value if -_LONG < value < _LONG else {TAG: "int", "v": hex(value)}
    if kind is dict:
        plain = all(type(key) is str and key != TAG for key in value)
        if plain:
            return {key: _tagged(inner, f"{path}.{key}") for key, inner in value.items()}
        pairs = [[_tagged(key, f"{path} key"), _tagged(inner, f"{path}[{key!r}]")] for key, inner in value.items()]
        return {TAG: "dict", "v": pairs}
    if kind is list:
        return [_tagged(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    if kind in (tuple, set, frozenset):
        return {TAG: kind.__name__, "v": [_tagged(inner, f"{path}[{i}]") for i, inner in enumerate(value)]}
    for known, tag, write in _ENCODERS:
        if kind is known:
            return {TAG: tag, "v": write(value)}
    return _subclass(value, path)


def _subclass(value: Any, path: str) -> Any:
    """Write a subclass of a plain type (an enum of strings, an ordered dict) as the plain value that equals it."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _tagged(int(value), path)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return _tagged(dict(value), path)
    if isinstance(value, list):
        return _tagged(list(value), path)
    raise MessageError(
        f"{path} has the type {type(value).__qualname__}, which can't be kept verbatim",
        hint="give plain Python values; of an SDK object, its model_dump()",
    )


_ENCODERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (bytes, "bytes", lambda value: value.hex()),
    (Decimal, "decimal", str),
    (UUID, "uuid", str),
    (datetime, "datetime", lambda value: value.isoformat()),
    (date, "date", lambda value: value.isoformat()),
    (time, "time", lambda value: value.isoformat()),
    (timedelta, "timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
)

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "int": lambda value: int(value, 16),
    "dict": dict,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "bytes": bytes.fromhex,
    "decimal": Decimal,
    "uuid": UUID,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda value: timedelta(*value),
}


def _untagged(found: dict[str, Any]) -> Any:
    if TAG not in found:
        return found
    return _DECODERS[found[TAG]](found["v"])
