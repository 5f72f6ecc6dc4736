"""Content of files and streams that blocks refer to: kept beside what the block itself says."""

from __future__ import annotations

import hashlib
import logging
from io import BytesIO, IOBase
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lossless.messages.objects import TAG

__all__ = ["is_stream", "keep_file", "read_stream", "restore_file", "stream_of"]

LARGEST = 20 * 2**20
"""Bytes of a file that are kept; of a larger one only its hash and size are."""

_CHUNK = 2**20
_FIELDS = ("image", "audio", "video", "data")
"""Where a block holds its content."""

_log = logging.getLogger("lossless")


def keep_file(block: BaseModel, written: dict[str, Any]) -> dict[str, Any]:
    """Add as ``file`` the content, the size (bytes) and the hash of the file that a block names; none if it can't be read."""
    path = getattr(block, "path", None)
    if not isinstance(path, (Path, str)) or not str(path):
        return written
    try:
        return written | {"file": _read(Path(path))}
    except (OSError, ValueError) as error:
        _log.warning("content of a block's file not kept path=%r why=%r", str(path), str(error))
        return written


def restore_file(cls: type[BaseModel], data: dict[str, Any], file: Any) -> dict[str, Any]:
    """Put the content that was kept in place of a path where no file is any longer."""
    path = data.get("path")
    content = file.get("data") if isinstance(file, dict) else None
    field = next((name for name in _FIELDS if name in cls.model_fields), None)
    if field is None or not isinstance(path, (Path, str)) or not isinstance(content, bytes) or _is_there(path):
        return data
    made = cls.model_validate({field: content, **{name: value for name, value in data.items() if name not in ("path", field)}})
    return {name: getattr(made, name) for name in made.model_fields_set} | {field: getattr(made, field), "path": None}


def is_stream(value: Any) -> bool:
    """Tell whether a written value is a stream's content."""
    return isinstance(value, dict) and value.get(TAG) == "stream"


def stream_of(stream: IOBase) -> dict[str, Any]:
    """Write what an open file or a buffer holds, all of it; where it is read stays."""
    if isinstance(stream, BytesIO):
        return {TAG: "stream", "data": stream.getvalue()}
    place = stream.tell()
    stream.seek(0)
    content = stream.read()
    stream.seek(place)
    return {TAG: "stream", "data": content if isinstance(content, bytes) else str(content).encode("utf-8", "surrogatepass")}


def read_stream(written: dict[str, Any]) -> BytesIO:
    """Give a buffer of what :func:`stream_of` wrote."""
    return BytesIO(written["data"])


def _is_there(path: Path | str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # who may not look there can't read there
        return False


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError("it is no file")
    digest, size, kept = hashlib.sha256(), 0, bytearray()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if size <= LARGEST:
                kept += chunk
    found: dict[str, Any] = {"sha256": digest.hexdigest(), "size": size}
    return found | ({"data": bytes(kept)} if size <= LARGEST else {})
