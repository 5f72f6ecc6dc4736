"""Leases: at most one process does a piece of work on a thread at a time, and a dead one's lease ends by itself.

Operational data, outside of the conversation model: losing a lease costs work done twice, never a wrong result. The time is the
wall clock of the machines that share a database.
"""

from __future__ import annotations

import os
import platform
import uuid

from sqlalchemy import Connection, delete, select, update

from lossless.store.keys import ThreadKey
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import LeaseRow

__all__ = ["forget_holder", "holder_name", "release_lease", "take_lease"]

_LEASE = LeaseRow.__table__  # type: ignore[attr-defined]
_INSERT_NEW = Prepared(insert_new(_LEASE))
_living: set[str] = set()
"""The holders of this process: whoever else has its id died before it, as in a container that is started again."""


def holder_name() -> str:
    """Make a name for whoever takes leases: this machine, this process, and something nobody else has."""
    name = f"{platform.node()}/{os.getpid()}/{uuid.uuid4().hex}"
    _living.add(name)
    return name


def forget_holder(name: str) -> None:
    """Note that a holder of this process is no more: its leases may be taken over at once."""
    _living.discard(name)


def take_lease(connection: Connection, key: ThreadKey, work: str, holder: str, now: int, seconds: float) -> bool:
    """Take a lease, or hold it longer; give whether it is the holder's now.

    It is taken from somebody else when it has ended, when its holder was of this machine and is gone, or when it would last more
    than twice as long as a lease does: then the clock went back meanwhile. (Clocks of several machines may differ by as much as a
    lease lasts.)

    Args:
        connection: a connection in a write transaction.
        key: the thread.
        work: what the lease is for.
        holder: of :func:`holder_name`.
        now: the time, in microseconds.
        seconds: how long the lease is to last.
    """
    until = now + int(seconds * 1_000_000)
    row = {"namespace": key.namespace, "thread_id": key.thread_id, "work": work, "holder": holder, "until": until}
    if _INSERT_NEW.run(connection, row) == 1:
        return True
    place = (_LEASE.c.namespace == key.namespace, _LEASE.c.thread_id == key.thread_id, _LEASE.c.work == work)
    found = connection.execute(select(_LEASE.c.holder, _LEASE.c.until).where(*place)).one_or_none()
    if found is None:
        return False
    lasts = now < found.until <= until + (until - now)
    if lasts and found.holder != holder and not _is_gone(found.holder):
        return False
    taken = connection.execute(
        update(_LEASE)
        .where(*place, _LEASE.c.holder == found.holder, _LEASE.c.until == found.until)
        .values(holder=holder, until=until)
    )
    return taken.rowcount == 1


def release_lease(connection: Connection, key: ThreadKey, work: str, holder: str) -> None:
    """Give a lease back, if it is still the holder's."""
    connection.execute(
        delete(_LEASE).where(
            _LEASE.c.namespace == key.namespace,
            _LEASE.c.thread_id == key.thread_id,
            _LEASE.c.work == work,
            _LEASE.c.holder == holder,
        )
    )


def _is_gone(holder: str) -> bool:
    """Tell whether a holder is of this machine, and no more; the id of a process that another one was given counts as alive."""
    node, _, rest = holder.rpartition("/")[0].rpartition("/")
    if node != platform.node() or not rest.isdecimal():
        return False
    if int(rest) == os.getpid():
        return holder not in _living
    try:
        os.kill(int(rest), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
