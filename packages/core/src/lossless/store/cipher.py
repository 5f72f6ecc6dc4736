"""Ciphers: what encrypts everything that an engine stores, and the one that is shipped, AES-256-GCM."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from lossless.errors import CipherError, ConfigError

__all__ = ["KEY_VARIABLE", "AesGcmCipher", "Cipher", "Key"]

KEY_VARIABLE = "LOSSLESS_KEY"
"""The environment variable that :meth:`AesGcmCipher.from_env` and the command line read."""

Key = bytes | str | Callable[[], "bytes | str"]
"""A key of 32 bytes: as it is, as text in hexadecimal or base64, or what gives it."""

_BYTES = 32
_NONCE = 12
_HINT = "a key is 32 random bytes, as they are or written in hexadecimal or base64; AesGcmCipher.new_key() makes one"


@runtime_checkable
class Cipher(Protocol):
    """Encrypts and authenticates bytes. It may be called by several threads at once.

    ``context`` says where the bytes belong. It is authenticated and not stored: bytes that were moved can't be decrypted.
    """

    @property
    def key_id(self) -> str:
        """Name the key that encrypts now, in 1 to 64 printable ASCII characters. It is stored beside the bytes, in clear."""
        ...

    @property
    def key_ids(self) -> Collection[str]:
        """Name all keys that can decrypt, the one that encrypts now included."""
        ...

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        """Encrypt bytes by the key that is used now; the same bytes look different each time."""
        ...

    def decrypt(self, data: bytes, context: bytes, key_id: str) -> bytes:
        """Decrypt what :meth:`encrypt` gave.

        Raises:
            ValueError: the bytes were changed, or were not encrypted by that key for that context.
        """
        ...


class AesGcmCipher:
    """AES-256 in Galois/counter mode, with random nonces (NIST SP 800-38D: at most 2**32 values by one key).

    Args:
        key: encrypts, and decrypts what it encrypted.
        retired: keys that were used before, which only decrypt.

    Raises:
        ConfigError: a key has not 32 bytes, or the package ``cryptography`` is not installed.
    """

    def __init__(self, key: Key, *, retired: Iterable[Key] = ()) -> None:
        aead, self._invalid = _primitives()
        keys = [_read_key(each) for each in (key, *retired)]
        self._ciphers: dict[str, Any] = {_fingerprint(each): aead(each) for each in keys}
        self._key_id = _fingerprint(keys[0])

    @staticmethod
    def new_key() -> str:
        """Make a key, in hexadecimal."""
        return os.urandom(_BYTES).hex()

    @classmethod
    def from_env(cls, variable: str = KEY_VARIABLE) -> AesGcmCipher:
        """Take the key from an environment variable; after a space, retired keys may follow.

        Raises:
            ConfigError: it is not set, or holds something else.
        """
        return cls._from_text(os.environ.get(variable, ""), f"${variable}")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> AesGcmCipher:
        """Take the key from a file: the first line; those after it are retired keys.

        Raises:
            ConfigError: it can't be read, or holds something else.
        """
        try:
            text = Path(path).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(f"the key file {os.fspath(path)} can't be read: {reason}", hint=_HINT) from None
        return cls._from_text(text, f"the key file {os.fspath(path)}")

    @property
    def key_id(self) -> str:
        """A fingerprint of the key."""
        return self._key_id

    @property
    def key_ids(self) -> Collection[str]:
        """Fingerprints of all keys."""
        return self._ciphers.keys()

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        """Encrypt bytes; gives nonce, ciphertext and tag."""
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._ciphers[self._key_id].encrypt(nonce, data, context)
        return nonce + sealed

    def decrypt(self, data: bytes, context: bytes, key_id: str) -> bytes:
        """Decrypt and authenticate bytes.

        Raises:
            CipherError: the key is not among those given.
            ValueError: the bytes were changed, or were not encrypted by that key for that context.
        """
        if key_id not in self._ciphers:
            raise CipherError(f"the key {key_id} is not given", hint="give it as retired")
        if len(data) < _NONCE:
            raise ValueError("too short")
        try:
            found: bytes = self._ciphers[key_id].decrypt(data[:_NONCE], data[_NONCE:], context)
        except self._invalid:
            raise ValueError("the tag does not match") from None
        return found

    def __repr__(self) -> str:
        return f"AesGcmCipher(key_id={self._key_id!r})"

    @classmethod
    def _from_text(cls, text: str, where: str) -> AesGcmCipher:
        words = text.split()
        if not words:
            raise ConfigError(f"{where} holds no key", hint=_HINT)
        try:
            return cls(words[0], retired=words[1:])
        except ConfigError as error:
            raise ConfigError(f"{where}: {error.message}", hint=error.hint) from None


def _primitives() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ConfigError("AesGcmCipher needs the package cryptography", hint='pip install "lossless[cipher]"') from None
    return AESGCM, InvalidTag


def _read_key(key: Key) -> bytes:
    value = key() if callable(key) else key
    if isinstance(value, str):
        value = _from_text(value.strip())
    if not isinstance(value, bytes) or len(value) != _BYTES:
        raise ConfigError("a key has not 32 bytes", hint=_HINT)  # never the key itself, and nothing made of it
    return value


def _from_text(text: str) -> bytes:
    try:
        return bytes.fromhex(text) if len(text) == 2 * _BYTES else base64.b64decode(text, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return b""


def _fingerprint(key: bytes) -> str:
    return hmac.digest(key, b"lossless key id", "sha256").hex()[:12]
