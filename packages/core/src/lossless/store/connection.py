"""Opening a database: the URL says which one it is."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from lossless.errors import ConfigError, UrlError
from lossless.store.cipher import Cipher
from lossless.store.database import BUSY_TIMEOUT_SECONDS, Database, Durability
from lossless.store.sqlite import open_sqlite
from lossless.store.vault import Vault

__all__ = ["BUSY_TIMEOUT_SECONDS", "Database", "Durability", "open_database"]

_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def open_database(url: str, *, durability: Durability = "full", create: bool = True, cipher: Cipher | None = None) -> Database:
    """Open the database behind a URL and bring its schema up to date.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``sqlite://`` (in memory), or
            ``postgresql+psycopg://user:password@host/name`` (``postgresql://`` means the same).
        durability: ``full``: a write is on the disk before it returns; ``normal``: it survives a crash of the process, not of the
            machine.
        create: whether an absent database is made; on PostgreSQL: whether our tables are made in a database that has none.
        cipher: encrypts what is stored.

    Raises:
        ConfigError: the durability is not known, or the driver of the database is not installed.
        UrlError: it can't be read, its scheme is not known, or it says what SQLite has no use for.
        StoreOpenError: no such directory or server, no permission, not a database, or absent and not to be made.
        SchemaError: made by a newer version.
    """
    if durability not in ("full", "normal"):
        raise ConfigError(f"durability {durability!r} is not known", hint="use 'full' or 'normal'")
    if cipher is not None and not isinstance(cipher, Cipher):
        raise ConfigError(f"a {type(cipher).__name__} is no cipher", hint="for example AesGcmCipher(key)")
    vault = Vault(cipher)
    parsed = _parse(url)
    if parsed.drivername in _SQLITE:
        if parsed.query or any(part is not None for part in (parsed.host, parsed.port, parsed.username, parsed.password)):
            raise UrlError(
                "the URL of a SQLite database has neither host nor options", hint="use sqlite:///file.db, or sqlite://"
            )
        return open_sqlite(parsed.set(drivername="sqlite+pysqlite"), durability=durability, create=create, vault=vault)
    if parsed.drivername in _POSTGRES:
        try:
            from lossless.store.postgres import open_postgres
        except ImportError:
            raise ConfigError(
                "PostgreSQL needs the driver psycopg", hint='install it: pip install "lossless[postgres]"'
            ) from None
        return open_postgres(parsed.set(drivername="postgresql+psycopg"), durability=durability, create=create, vault=vault)
    if parsed.drivername.startswith(("postgresql+", "postgres+")):
        raise UrlError(
            f"PostgreSQL is reached through psycopg, not through {parsed.drivername.partition('+')[2]}",
            hint="use postgresql+psycopg://",
        )
    raise UrlError(
        f"the database scheme {parsed.drivername!r} is not known",
        hint="use sqlite:///file.db, sqlite:// or postgresql+psycopg://user@host/name",
    )


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):  # the driver's words would repeat the password
        raise UrlError("the database URL can't be read", hint="for example sqlite:///lossless.db") from None
