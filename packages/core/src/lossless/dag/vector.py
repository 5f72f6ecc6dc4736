"""A persistent vector: an immutable list in chunks of at most 64, addressed by content, so that versions share their chunks.

A list of up to 64 elements is one leaf node; longer lists are trees of such nodes. The address of a list is the digest of its
root.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select

from lossless.errors import CorruptError
from lossless.store.prepared import Prepared
from lossless.store.statements import insert_new
from lossless.store.tables import NodeRow

__all__ = ["FANOUT", "address", "load", "store"]

FANOUT = 64
_NODE = NodeRow.__table__  # type: ignore[attr-defined]

_INSERT = Prepared(insert_new(_NODE))
_SELECT = Prepared(select(_NODE.c.data).where(_NODE.c.namespace == bindparam("namespace"), _NODE.c.digest == bindparam("digest")))


def address(elements: Sequence[Any]) -> bytes:
    """Give the address a list would have, without storing it."""
    *_, (root, _data) = _nodes(elements)
    return root


def store(connection: Connection, namespace: str, elements: Sequence[Any]) -> bytes:
    """Store a list of JSON values, but for the nodes that are there already, and give its address (32 bytes)."""
    nodes = list(_nodes(elements))
    # In the order of their digests: writers of the same nodes wait for each other in one order.
    rows = [{"namespace": namespace, "digest": digest, "data": data} for digest, data in sorted(nodes)]
    _INSERT.run(connection, *rows)
    return nodes[-1][0]


def load(connection: Connection, namespace: str, root: bytes) -> list[Any]:
    """Load a list by its address.

    Raises:
        CorruptError: a node is missing or does not match its address.
    """
    node = _read_node(connection, namespace, root)
    if "leaf" in node:
        return list(node["leaf"])
    return [element for child in node["inner"] for element in load(connection, namespace, bytes.fromhex(child))]


def _nodes(elements: Sequence[Any]) -> Iterator[tuple[bytes, bytes]]:
    """Give address and bytes of every node, the root last."""
    kind, level = "leaf", list(elements)
    while True:
        above: list[str] = []
        for start in range(0, max(len(level), 1), FANOUT):
            data = json.dumps({kind: level[start : start + FANOUT]}, separators=(",", ":")).encode("ascii")
            digest = hashlib.sha256(b"lossless node\0" + data).digest()
            yield digest, data
            above.append(digest.hex())
        if len(above) == 1:
            return
        kind, level = "inner", above


def _read_node(connection: Connection, namespace: str, digest: bytes) -> dict[str, Any]:
    row = _SELECT.first(connection, {"namespace": namespace, "digest": digest})
    if row is None or hashlib.sha256(b"lossless node\0" + row.data).digest() != digest:
        raise CorruptError(f"a part of a view is missing or changed ({digest.hex()[:12]})", hint="run `lossless verify`")
    node: dict[str, Any] = json.loads(row.data)
    return node
