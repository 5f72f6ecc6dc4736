"""What PostgreSQL says when something goes wrong, in our words. Passwords are taken out of everything that is repeated."""

from __future__ import annotations

import psycopg
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from lossless.errors import LosslessError, StoreBusyError, StoreError, StoreOpenError
from lossless.store.keys import unstorable

__all__ = ["is_conflict", "is_dropped", "translate"]

Failure = psycopg.Error | DBAPIError
_CONFLICTS = ("40001", "40P01")
_GONE = ("57P01", "57P02", "57P03")  # shut down by an administrator, crashed, not yet up
_NUL = "cannot contain NUL"  # what the client says of a text before it asks the server
_SECRET = ("password", "sslpassword")

_NO_PASSWORD = "no password supplied"  # noqa: S105 - words of an error

# What opening a connection failed with is told in words only.
_REFUSALS = (
    ("password authentication failed", "28P01"),
    (_NO_PASSWORD, "28P01"),
    ("no pg_hba.conf entry", "28000"),
    ("role", "28000"),
    ("too many clients", "53300"),
    ("remaining connection slots", "53300"),
    ("database", "3D000"),
)


def is_conflict(error: Failure) -> bool:
    """Tell whether another transaction was in the way, so that the same one may go well the next time."""
    return _state(error) in _CONFLICTS


def is_dropped(error: Failure) -> bool:
    """Tell whether a connection was lost, or could not be made because the server is away for the moment."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(original, psycopg.OperationalError):
        return False
    state = _state(error)
    return state is None or state in _GONE or state.startswith("08")


def translate(error: Failure | PoolTimeout | UnicodeEncodeError, url: URL, *, opening: bool = False) -> LosslessError:
    """Say in our words what went wrong, when the database was opened or later."""
    if isinstance(error, UnicodeEncodeError) or (isinstance(error, (psycopg.DataError, DBAPIError)) and _NUL in str(error)):
        return unstorable()
    where = f"the PostgreSQL database {url.database or url.username or ''}"
    if isinstance(error, PoolTimeout):
        return StoreBusyError(f"all connections to {where} are in use", hint="try again, or call from fewer threads at once")
    said = _said(error, url)
    host = f"{url.host or url.query.get('host') or 'the local socket'}" + (f":{url.port}" if url.port else "")
    known: dict[str | None, tuple[type[StoreError], str, str]] = {
        "28P01": (StoreOpenError, f"{host} refuses the password of {url.username}", "check user and password of the URL"),
        "28000": (StoreOpenError, f"{host} does not let {url.username} in", "check the user and the server's pg_hba.conf"),
        "3D000": (StoreOpenError, f"there is no database {url.database} at {host}", f"create it: createdb {url.database}"),
        "42501": (
            StoreError,
            f"{url.username} may not do that in {where}: {said}",
            "grant the rights, or let its owner open it once",
        ),
        "25006": (StoreOpenError, f"{where} can't be written", "connect to the primary; a standby only reads"),
        "53100": (StoreError, f"the disk of {where} is full", "free some space; what was stored before is safe"),
        "53200": (StoreBusyError, f"the server of {where} is out of memory", "try again later"),
        "53300": (StoreBusyError, f"the server of {where} has no connection left", "close some, or raise max_connections"),
        "55P03": (StoreBusyError, f"{where} is held by another writer", "try again, or find who holds it in pg_stat_activity"),
        "57014": (StoreBusyError, f"a statement in {where} took too long", "try again, or raise statement_timeout"),
        "40001": (StoreBusyError, f"other writers in {where} were in the way each time", "try again"),
        "40P01": (StoreBusyError, f"other writers in {where} were in the way each time", "try again"),
        "42P01": (StoreError, f"tables of ours are missing in {where}", "restore a backup; somebody dropped them"),
        "XX001": (StoreError, f"{where} is damaged: {said}", "restore a backup"),
        "XX002": (StoreError, f"{where} is damaged: {said}", "reindex it, or restore a backup"),
    }
    found = known.get(_state(error))
    if found is None and is_dropped(error):
        hint = "check that the server runs and that the URL is right" if opening else "try again when the server is back"
        found = (StoreOpenError if opening else StoreBusyError, f"can't reach {where} at {host}: {said}", hint)
    if found is None:
        return StoreError(f"{where}: {said}")
    kind, message, hint = found
    return kind(message, hint=hint)


def _state(error: Failure | PoolTimeout) -> str | None:
    """Give the SQLSTATE, derived from the words where a connection was refused."""
    original = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(original, "sqlstate", None)
    if state is None and isinstance(original, psycopg.OperationalError):
        said = str(original)
        if "FATAL" in said or _NO_PASSWORD in said:  # what the server says, or the client before it asks the server
            return next(
                (code for words, code in _REFUSALS if words in said and (code != "3D000" or "does not exist" in said)), None
            )
    return state


def _said(error: Failure, url: URL) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    lines = str(original).strip().splitlines()
    said = lines[0] if lines else type(original).__name__
    secrets = [url.password, *(url.query.get(name) for name in _SECRET)]
    for secret in secrets:
        if isinstance(secret, str) and secret:
            said = said.replace(secret, "***")
    return said
