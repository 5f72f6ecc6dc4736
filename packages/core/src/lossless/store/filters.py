"""Filters: which of the messages within reach a search looks at, by role, by time and by tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from lossless.errors import QueryError
from lossless.messages.model import Message
from lossless.messages.parts import Call, Result
from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.read import MessageReader, facts_of
from lossless.store.tables import ThreadRow
from lossless.store.times import to_stored
from lossless.store.usual import DEFAULT_ROLE

__all__ = ["EVERYTHING", "Filters", "filters", "uses_tool"]

_THREAD = ThreadRow.__table__  # type: ignore[attr-defined]
_ROLES = ("system", "developer", "user", "assistant", "tool")
_OF_ENTRY = "m.namespace = d.namespace AND m.thread_id = d.thread_id AND m.seq = d.seq"
_PARENT = Prepared(
    select(_THREAD.c.parent).where(_THREAD.c.namespace == bindparam("namespace"), _THREAD.c.thread_id == bindparam("thread_id"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a message must have to be looked at; what is empty or None lets everything pass.

    Attributes:
        roles: one of these.
        since: microseconds; made then or later.
        until: microseconds; made before.
        tools: calls one of these tools, or is what one of them answered.
    """

    roles: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    tools: tuple[str, ...] = ()
    condition: str = field(init=False, repr=False, compare=False)
    values: dict[str, str | int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write the SQL condition on a message's row ``m``: all but the tools, which its payload names."""
        conditions: list[str] = []
        values: dict[str, str | int] = {}
        if self.roles:
            names = [f"role_{number}" for number in range(len(self.roles))]
            conditions.append(f"coalesce(m.role, '{DEFAULT_ROLE}') IN ({', '.join(f':{name}' for name in names)})")
            values.update(zip(names, self.roles, strict=True))
        for name, value, sign in (("since", self.since, ">="), ("until", self.until, "<")):
            if value is not None:
                conditions.append(f"m.created_at {sign} :{name}")
                values[name] = value
        object.__setattr__(self, "condition", " AND ".join(conditions))
        object.__setattr__(self, "values", values)

    @property
    def of_message(self) -> str:
        """The SQL value that tells whether a message's row ``m`` passes."""
        return f"({self.condition})" if self.condition else "(1 = 1)"

    @property
    def passes(self) -> str:
        """The SQL value that tells whether the message of an entry ``d`` of the search index passes.

        It is a query of its own, so that no database begins with the messages and looks for entries.
        """
        return f"(SELECT {self.condition} FROM lossless_message m WHERE {_OF_ENTRY})" if self.condition else "(1 = 1)"  # noqa: S608


EVERYTHING = Filters()
"""Lets everything pass."""


def filters(
    *,
    role: str | Iterable[str] | None,
    since: datetime | None,
    until: datetime | None,
    tool: str | Iterable[str] | None,
) -> Filters:
    """Read what a caller asks for.

    Raises:
        QueryError: a role that is not known, a time that is none, an end before the beginning.
    """
    roles = _names(role, "role")
    for name in roles:
        if name not in _ROLES:
            raise QueryError(f"the role {name!r} is not known", hint=f"one of {', '.join(_ROLES)}")
    first, end = _moment(since, "since"), _moment(until, "until")
    if first is not None and end is not None and first >= end:
        raise QueryError(f"since ({since}) is not before until ({until})", hint="since is inclusive, until exclusive")
    return Filters(roles=roles, since=first, until=end, tools=_names(tool, "tool"))


def _names(given: str | Iterable[str] | None, what: str) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not names or not all(isinstance(name, str) for name in names):
        raise QueryError(f"a {what} must be a name, or several", hint="give a string or a list of strings, or nothing")
    return tuple(dict.fromkeys(names))


def _moment(given: datetime | None, what: str) -> int | None:
    if given is None:
        return None
    if not isinstance(given, datetime):
        raise QueryError(f"{what} must be a datetime, not {type(given).__name__}", hint="one without a time zone is local time")
    try:
        return to_stored(given)
    except (OverflowError, ValueError) as error:
        raise QueryError(f"{what} ({given}) is out of range: {error}", hint="give a year from 2 to 9998") from None


def uses_tool(connection: Connection, reader: MessageReader, message: Message, namespace: str, tools: tuple[str, ...]) -> bool:
    """Tell whether a message calls one of the tools, or is what one of them answered.

    An answer as a rule names no tool, only the call; then the message that made the call is looked at.
    """
    if any(isinstance(part, (Call, Result)) and part.name in tools for part in message.parts):
        return True
    asked = {part.call_id for part in message.parts if isinstance(part, Result) and part.name is None}
    return bool(asked) and any(
        isinstance(part, Call) and part.id in asked and part.name in tools
        for part in _calling(connection, reader, ThreadKey(namespace, message.thread_id), message.seq)
    )


def _calling(connection: Connection, reader: MessageReader, key: ThreadKey, seq: int) -> Iterable[object]:
    """Give the parts of the message that began a message's unit; a branch may have it from a thread that it comes from."""
    found = facts_of(connection, key, [seq])
    owner: ThreadKey | None = key
    while found and owner is not None:
        first = reader.by_seq(connection, owner, [found[0].unit])
        if first:
            return first[0].parts
        row = _PARENT.first(connection, {"namespace": owner.namespace, "thread_id": owner.thread_id})
        owner = ThreadKey(owner.namespace, row.parent) if row is not None and row.parent is not None else None
    return ()
