"""The raw files of a database: what somebody finds who looks past the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from lossless.store.blobs import pack

__all__ = ["found_in", "traces_of"]


def traces_of(text: str, *payloads: bytes) -> dict[str, bytes]:
    """Give what a text must not leave behind: the text itself, its words for the index, payloads with it as they are stored, and
    bare hashes of it."""
    traces = {"text": text.encode(), "folded": text.casefold().encode(), "utf-16": text.encode("utf-16-le")}
    traces.update({f"stored {number}": pack(data)[1] for number, data in enumerate(payloads)})
    for number, data in enumerate((text.encode(), *payloads)):
        for name in ("sha256", "sha1", "md5", "blake2b"):
            digest = hashlib.new(name, data, usedforsecurity=False).digest()
            traces[f"{name} {number}"] = digest
            traces[f"{name} {number} hex"] = digest.hex().encode()
    return traces


def found_in(files: Iterable[Path], traces: dict[str, bytes]) -> dict[str, list[str]]:
    """Give the traces that stand in a file, by file."""
    found: dict[str, list[str]] = {}
    for path in files:
        if path.is_file():
            content = path.read_bytes()
            here = [name for name, trace in traces.items() if trace in content]
            if here:
                found[str(path)] = here
    return found
