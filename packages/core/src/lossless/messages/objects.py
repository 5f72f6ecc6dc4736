"""Objects within messages (artifacts, metadata) as plain values that the core keeps verbatim, and back.

The core keeps numbers, texts, bytes, dates, tuples, sets and the like itself. What it has no notion of is written as a dict with
the key ``$object``: pydantic objects, dataclasses, enum members, paths, messages within messages. A dict of the user's that has
this key is written as pairs, so that it can't be taken for one of these. What can't be kept (a socket, a data frame) is written
as what it is in words: a message is never lost for the sake of its artifact.
"""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from pydantic import AnyUrl, BaseModel, networks

from lossless.errors import LosslessError, MessageError
from lossless.messages.classes import bare, find_class, name_of
from lossless.messages.payload import encode

__all__ = ["TAG", "Packer", "UnknownObject", "bare_model", "pack", "unpack"]

TAG = "$object"
_DEPTH = 80
"""Levels within one message that are kept; the core keeps 200, and an object takes two."""

_PLAIN = frozenset({str, int, float, bool, type(None), bytes, datetime, date, time, timedelta, Decimal, UUID})
_CONTAINERS = (dict, list, tuple)
_OBJECTS = frozenset({"dict", "set", "enum", "path", "url", "message", "dataclass", "pydantic", "pydantic1"})
_NEARLY_PLAIN = (str, int, float, bytes, bytearray, datetime, date, time, timedelta, Decimal, UUID)

_log = logging.getLogger("lossless")


@dataclasses.dataclass(frozen=True, slots=True)
class UnknownObject:
    """An object that can't be made again here: its class is not loaded, or it could only be described.

    Attributes:
        class_name: ``module:qualified name``.
        fields: what it held, or what it was in words.
        raw: how it is stored; it is stored so again.
    """

    class_name: str
    fields: Any
    raw: Any = dataclasses.field(repr=False, compare=False, default=None)


def pack(value: Any, *, strict: bool = False) -> Any:
    """Write a value so that the core keeps it verbatim and :func:`unpack` gives an equal one.

    Args:
        value: anything. It is not changed; what is plain in it may be shared with what is given.
        strict: whether a value that can't be kept is refused, rather than described in words.

    Raises:
        MessageError: with ``strict``, naming the path of the value that can't be kept.
    """
    return Packer(strict).pack(value)


def unpack(value: Any, read_message: Callable[[Any], Any] | None = None) -> Any:
    """Read what :func:`pack` wrote; objects of unknown classes become :class:`UnknownObject`. Never raises.

    Args:
        value: plain values; they may be changed, and be part of what is given.
        read_message: reads messages within messages.
    """
    return _Unpacker(read_message).read(value)


class Packer:
    """Packs values.

    Args:
        strict: whether values that can't be kept are refused.
        write_message: writes messages within messages; None: they are written as other pydantic objects.
    """

    def __init__(self, strict: bool, write_message: Callable[[Any], Any] | None = None) -> None:
        self._strict = strict
        self._write_message = write_message
        self._within: list[int] = []

    def pack(self, value: Any) -> Any:
        """Pack one value."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if len(self._within) > _DEPTH or id(value) in self._within:
            return self._described(value, "it is nested too deeply, or contains itself")
        self._within.append(id(value))
        try:
            return self._container(value, kind)
        finally:
            self._within.pop()

    def fields(self, value: BaseModel) -> dict[str, Any]:
        """Pack the fields of a pydantic object, those that are not in its model included."""
        held = {name: inner for name, inner in value.__dict__.items() if name in type(value).model_fields}
        return self._dict(held | (value.__pydantic_extra__ or {}))

    def private(self, value: BaseModel) -> dict[str, Any]:
        """Pack the private attributes of a pydantic object that can be kept; locks and the like are made anew."""
        return self._keepable(value.__pydantic_private__ or {})

    def _keepable(self, held: dict[str, Any]) -> dict[str, Any]:
        packer = Packer(True, self._write_message)
        found: dict[str, Any] = {}
        for name, inner in held.items():
            try:
                found[name] = packer.pack(inner)
            except MessageError:
                continue
        return found

    def _container(self, value: Any, kind: type) -> Any:
        if kind is dict:
            return self._dict(value) if TAG not in value and all(type(key) in _PLAIN for key in value) else self._pairs(value)
        if kind is list:
            return self._each(value)
        if kind is tuple:
            return tuple(self._each(value))
        if isinstance(value, (set, frozenset)):
            packed = self._each(value)
            return value if packed == list(value) else {TAG: "set", "frozen": isinstance(value, frozenset), "data": packed}
        for wanted, write in self._writers():
            if isinstance(value, wanted):
                return write(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        return self._other(value)

    def _writers(self) -> tuple[tuple[type, Callable[[Any], Any]], ...]:
        return (
            (Enum, self._enum),
            (BaseModel, self._model),
            (PurePath, self._path),
            (AnyUrl, self._url),
            (UnknownObject, self._unknown),
        )

    def _dict(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {key: inner if type(inner) is str else self._at(key, inner) for key, inner in value.items()}

    def _pairs(self, value: dict[Any, Any]) -> dict[str, Any]:
        return {TAG: "dict", "data": [[self.pack(key), self._at(key, inner)] for key, inner in value.items()]}

    def _each(self, values: Iterable[Any]) -> list[Any]:
        return [self._at(index, inner) for index, inner in enumerate(values)]

    def _at(self, place: Any, value: Any) -> Any:
        try:
            return self.pack(value)
        except MessageError as error:
            raise MessageError(f"{place!r:.40} → {error.message}", hint=error.hint) from None

    def _enum(self, value: Enum) -> dict[str, Any]:
        return {TAG: "enum", "class": name_of(type(value), Enum), "name": value.name, "data": self.pack(value.value)}

    def _model(self, value: BaseModel) -> Any:
        written = self._write_message(value) if self._write_message is not None else None
        if written is not None:
            return {TAG: "message", "data": written}
        packed = {TAG: "pydantic", "class": name_of(type(value), BaseModel), "data": self.fields(value)}
        if value.__pydantic_fields_set__ != set(packed["data"]):
            packed["set"] = sorted(value.__pydantic_fields_set__)
        private = self.private(value)
        return packed | ({"private": private} if private else {})

    def _first_model(self, value: Any, base: type) -> dict[str, Any]:
        packed = {TAG: "pydantic1", "class": name_of(type(value), base), "data": self._dict(value.__dict__)}
        if value.__fields_set__ != set(value.__dict__):
            packed["set"] = sorted(value.__fields_set__)
        held = {name: getattr(value, name) for name in value.__private_attributes__ if hasattr(value, name)}
        private = self._keepable(held)
        return packed | ({"private": private} if private else {})

    def _dataclass(self, value: Any) -> Any:
        try:
            held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        except AttributeError:
            return self._described(value, "a field of it is not set")
        extra = {name: inner for name, inner in getattr(value, "__dict__", {}).items() if name not in held}
        return {TAG: "dataclass", "class": name_of(type(value), object), "data": self._dict(held | extra)}

    def _path(self, value: PurePath) -> dict[str, Any]:
        return {TAG: "path", "pure": not isinstance(value, Path), "data": str(value)}

    def _url(self, value: AnyUrl) -> Any:
        name = type(value).__name__
        if getattr(networks, name, None) is not type(value):
            return self._described(value, "addresses of own classes can't be kept")
        return {TAG: "url", "class": name, "data": str(value)}

    def _unknown(self, value: UnknownObject) -> Any:
        return value.raw if value.raw is not None else self._described(value, "it was made by hand")

    def _other(self, value: Any) -> Any:
        """Keep subclasses of plain types as the plain value that equals them, as the core does; describe all else."""
        first = _first_pydantic()
        if first is not None and isinstance(value, first):
            return self._first_model(value, first)
        if isinstance(value, dict):
            return self._container(dict(value), dict)
        if isinstance(value, (list, tuple)):
            return self._container(list(value), list) if isinstance(value, list) else self._container(tuple(value), tuple)
        if isinstance(value, _NEARLY_PLAIN):
            try:
                encode(value)
                return value
            except LosslessError:
                pass
        return self._described(value, "values of this type can't be kept")

    def _described(self, value: Any, why: str) -> dict[str, Any]:
        cls = type(value)
        name = f"{cls.__module__}:{cls.__qualname__}"
        if self._strict:
            raise MessageError(f"a {name}: {why}", hint="give plain values, pydantic objects or dataclasses")
        _log.warning("value described in words, not kept type=%s why=%r", name, why)
        return {TAG: "described", "class": name, "data": _in_words(value)}


def _in_words(value: Any) -> str:
    try:
        return f"{value!r:.2000}"
    except Exception:
        return f"a {type(value).__qualname__}"


class _Unpacker:
    def __init__(self, read_message: Callable[[Any], Any] | None) -> None:
        self._read_message = read_message

    def read(self, value: Any) -> Any:
        kind = type(value)
        if kind is dict:
            if TAG in value:
                return self._object(value)
            for key, inner in value.items():
                if type(inner) in _CONTAINERS:
                    value[key] = self.read(inner)
            return value
        if kind is list:
            for index, inner in enumerate(value):
                if type(inner) in _CONTAINERS:
                    value[index] = self.read(inner)
            return value
        return tuple(self.read(inner) for inner in value) if kind is tuple else value

    def _object(self, tagged: dict[str, Any]) -> Any:
        kind = tagged[TAG]
        try:
            made = getattr(self, f"_{kind}")(tagged) if kind in _OBJECTS else None
        except Exception:  # whatever a damaged payload holds: it is shown, and the rest of its message is read
            made = None
        return made if made is not None else UnknownObject(str(tagged.get("class", kind)), tagged.get("data"), tagged)

    def _dict(self, tagged: dict[str, Any]) -> Any:
        return {self.read(key): self.read(inner) for key, inner in tagged["data"]}

    def _set(self, tagged: dict[str, Any]) -> Any:
        return (frozenset if tagged["frozen"] else set)(self.read(inner) for inner in tagged["data"])

    def _enum(self, tagged: dict[str, Any]) -> Any:
        cls = find_class(tagged["class"], Enum)
        return None if cls is None else cls.__members__.get(tagged["name"])

    def _path(self, tagged: dict[str, Any]) -> Any:
        return (PurePath if tagged["pure"] else Path)(tagged["data"])

    def _url(self, tagged: dict[str, Any]) -> Any:
        cls = getattr(networks, tagged["class"], None)
        made = cls(tagged["data"]) if isinstance(cls, type) and issubclass(cls, AnyUrl) else None
        return made if str(made) == tagged["data"] else None

    def _message(self, tagged: dict[str, Any]) -> Any:
        return None if self._read_message is None else self._read_message(tagged["data"])

    def _dataclass(self, tagged: dict[str, Any]) -> Any:
        cls = find_class(tagged["class"], object)
        if cls is None or not dataclasses.is_dataclass(cls):
            return None
        made = bare(cls)
        for name, inner in tagged["data"].items():
            object.__setattr__(made, name, self.read(inner))
        return made

    def _pydantic(self, tagged: dict[str, Any]) -> Any:
        cls = find_class(tagged["class"], BaseModel)
        if cls is None:
            return None
        data = {name: self.read(inner) for name, inner in tagged["data"].items()}
        private = {name: self.read(inner) for name, inner in tagged.get("private", {}).items()}
        return bare_model(cls, data, set(tagged.get("set", data)), private)

    def _pydantic1(self, tagged: dict[str, Any]) -> Any:
        base = _first_pydantic()
        cls: Any = None if base is None else find_class(tagged["class"], base)
        if cls is None:
            return None
        made = bare(cls)
        data = {name: self.read(inner) for name, inner in tagged["data"].items()}
        object.__setattr__(made, "__dict__", data)
        object.__setattr__(made, "__fields_set__", set(tagged.get("set", data)))
        private = {name: self.read(inner) for name, inner in tagged.get("private", {}).items()}
        for name, inner in private.items():
            if name in cls.__private_attributes__:
                object.__setattr__(made, name, inner)
        return made


def _first_pydantic() -> type | None:
    """Give the base class of objects of pydantic 1, which pydantic 2 carries along; None where nobody has loaded it."""
    found = getattr(sys.modules.get("pydantic.v1.main"), "BaseModel", None)
    return found if isinstance(found, type) else None


def bare_model(cls: type[BaseModel], data: dict[str, Any], given: set[str], private: dict[str, Any]) -> BaseModel:
    """Make a pydantic object of its fields without validating them or running code of its class."""
    fields = cls.__pydantic_fields__
    extra = {name: data.pop(name) for name in [name for name in data if name not in fields]}
    made = bare(cls)
    object.__setattr__(made, "__dict__", data)
    object.__setattr__(made, "__pydantic_fields_set__", given)
    object.__setattr__(made, "__pydantic_extra__", extra if cls.model_config.get("extra") == "allow" else None)
    attributes = cls.__private_attributes__
    held = {name: private[name] if name in private else slot.get_default() for name, slot in attributes.items()}
    object.__setattr__(made, "__pydantic_private__", held if attributes else None)
    return made
