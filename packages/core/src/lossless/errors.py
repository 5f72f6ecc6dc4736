"""Every error that Lossless raises on purpose.

::

    LosslessError                 root; nothing else crosses the public API on purpose
    ├── ConfigError               a setting is missing, unknown or contradictory
    │   └── PluginError           a plugin misbehaves or does not match the hook specifications
    ├── StoreError                the database can't do what was asked
    │   ├── StoreOpenError        it can't be opened: path, permission, server, not a database
    │   │   └── UrlError          its URL can't be read, or names a kind of database that is not known
    │   ├── SchemaError           it was made by a newer version, or its migration failed
    │   ├── StoreBusyError        others held it for longer than the busy timeout, or its server is away (retryable)
    │   ├── CorruptError          stored bytes no longer match their digest
    │   └── CipherError           what is stored is encrypted by a key that is not given, or not at all
    ├── MessageError              a message can't be stored as given
    ├── ExistsError               a name is taken already
    ├── NotFoundError             no such thread, message, summary or file within reach
    ├── QueryError                a search pattern can't be used as asked
    └── ClosedError               the engine was closed
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CipherError",
    "ClosedError",
    "ConfigError",
    "CorruptError",
    "ExistsError",
    "LosslessError",
    "MessageError",
    "NotFoundError",
    "PluginError",
    "QueryError",
    "SchemaError",
    "StoreBusyError",
    "StoreError",
    "StoreOpenError",
    "UrlError",
]


class LosslessError(Exception):
    """Root of all errors.

    Attributes:
        code: stable, machine-readable name of the kind of error.
        hint: what the reader can do about it; may be empty.
        retryable: whether the same call may succeed later, unchanged.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(LosslessError):
    """A setting is missing, unknown or contradictory."""

    code = "config"


class PluginError(ConfigError):
    """A plugin misbehaves or does not match the hook specifications."""

    code = "plugin"


class StoreError(LosslessError):
    """The database can't do what was asked."""

    code = "store"


class StoreOpenError(StoreError):
    """The database can't be opened."""

    code = "store_open"


class UrlError(StoreOpenError):
    """The URL of the database can't be read, or names a kind of database or driver that is not known."""

    code = "url"


class SchemaError(StoreError):
    """The database has a schema this version can't use."""

    code = "schema"


class StoreBusyError(StoreError):
    """Others held the database for longer than the busy timeout, or its server went away; the same call may succeed later.

    Attributes:
        interrupted: whether a read lost its connection in the middle; then the same read may succeed at once.
    """

    code = "store_busy"
    retryable = True
    interrupted = False


class CorruptError(StoreError):
    """Stored bytes no longer match their digest."""

    code = "corrupt"


class CipherError(StoreError):
    """What is stored is encrypted by a key that is not given, or is not encrypted although there is a cipher."""

    code = "cipher"


class MessageError(LosslessError):
    """A message can't be stored as given; nothing of its batch was stored.

    Attributes:
        index: position of the message in the batch that was given, from 0, or None.
    """

    code = "message"

    def __init__(self, message: str, *, hint: str = "", index: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.index = index


class NotFoundError(LosslessError):
    """No such thread, message, summary or file within reach."""

    code = "not_found"


class ExistsError(LosslessError):
    """A name is taken already."""

    code = "exists"


class QueryError(LosslessError):
    """A search pattern can't be used as asked."""

    code = "query"


class ClosedError(LosslessError):
    """The engine was closed."""

    code = "closed"
