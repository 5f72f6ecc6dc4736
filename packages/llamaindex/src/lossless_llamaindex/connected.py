"""What holds an engine and is serialised as its address: it connects again where it is made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from pydantic import BaseModel, PrivateAttr

from lossless import Engine
from lossless.errors import ConfigError
from lossless.sharing import address_of, engine_at, shared_engine

__all__ = ["ADDRESS", "Connected"]

ADDRESS = ("url", "namespace", "window", "encrypted", "engine_token")
"""The fields that lead to the engine."""


class Connected(BaseModel):
    """An object on an engine. Copies share the engine; pickled or as a dict it is the engine's address, which has no password.

    Args:
        engine: where messages are; or its URL.
        url: instead of an engine: the engine of this process for that database. Neither: ``$LOSSLESS_URL``, else
            ``sqlite:///lossless.db``.
        data: the other fields; ``namespace`` and ``window`` (tokens) of an engine that is named by its URL.

    Raises:
        StoreOpenError: the database can't be opened.
        ConfigError: it was in memory, or encrypted, in another process; or there is no such argument.
    """

    url: str = ""
    namespace: str = "default"
    window: int | None = None
    encrypted: bool = False
    engine_token: str = ""

    _engine: Engine = PrivateAttr()

    def __init__(self, engine: Engine | str | None = None, url: str | None = None, **data: Any) -> None:
        address = {name: data.pop(name) for name in ADDRESS if name in data}
        unknown = sorted(set(data) - {*type(self).model_fields, "class_name"})
        if unknown:
            known_ones = ", ".join(["engine", *type(self).model_fields])
            raise ConfigError(f"{type(self).__name__} has no argument {unknown[0]!r}", hint=f"it has {known_ones}")
        found = _engine_for(engine, url, address)
        known = address_of(found)
        known["engine_token"] = known.pop("engine")
        super().__init__(**data, **known)
        self._engine = found

    @property
    def engine(self) -> Engine:
        """The engine that it is on."""
        return self._engine

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Give it as JSON values, from which ``from_dict`` makes one on the same database."""
        return {**self.model_dump(mode="json", **kwargs), "class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Make one from what ``to_dict`` gave.

        Raises:
            StoreOpenError: the database can't be opened.
            ConfigError: it was in memory, or encrypted, in another process.
        """
        return cls(**{name: value for name, value in {**data, **kwargs}.items() if name != "class_name"})

    @classmethod
    def class_name(cls) -> str:
        """Give the name of the class."""
        return cls.__name__

    def __copy__(self) -> Self:
        return self._again(self._engine)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self._again(self._engine)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _made_again, (type(self), self.to_dict())

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.__reduce__()

    def _again(self, engine: Engine) -> Self:
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in ADDRESS}
        return type(self)(engine=engine, **own)


def _engine_for(engine: Engine | str | None, url: str | None, address: dict[str, Any]) -> Engine:
    if isinstance(engine, Engine):
        return engine
    named = engine or url
    if named and address.get("engine_token"):
        return engine_at({**address, "url": named, "engine": address["engine_token"]})
    return shared_engine(named, namespace=address.get("namespace", "default"), window=address.get("window"))


def _made_again(cls: type[Connected], data: dict[str, Any]) -> Connected:
    return cls.from_dict(data)
