"""The vault: how what is stored is sealed by the engine's cipher, and unsealed.

What is sealed is bound to its place: what it is, its namespace, its row. The secret of a namespace
(``lossless.store.namespaces``) is sealed like everything else, and its row says whether the namespace is encrypted at all, so
that nobody writes plain text into an encrypted one, or finds noise.
"""

from __future__ import annotations

import base64
import binascii
import hmac

from sqlalchemy import Connection

from lossless.errors import CipherError, CorruptError
from lossless.store.cipher import Cipher

__all__ = ["VAULT", "Vault", "vault_of"]

VAULT = "lossless_vault"
"""The execution option under which connections carry the vault of their database."""

_TEXT = "sealed:"


class Vault:
    """Seals and unseals. Without a cipher, neither changes anything. One for each open database."""

    def __init__(self, cipher: Cipher | None = None) -> None:
        self._cipher = cipher

    @property
    def encrypts(self) -> bool:
        """Whether there is a cipher."""
        return self._cipher is not None

    @property
    def key_id(self) -> str | None:
        """The id of the key that seals; None without a cipher."""
        return self._cipher.key_id if self._cipher is not None else None

    def seal(self, data: bytes, *place: str) -> bytes:
        """Seal bytes for a place: what they are, then what names the row they stand in."""
        if self._cipher is None:
            return data
        key_id = self._cipher.key_id.encode("ascii")
        return bytes((len(key_id),)) + key_id + self._cipher.encrypt(data, _context(place))

    def unseal(self, data: bytes, *place: str) -> bytes:
        """Give the bytes that were sealed for a place.

        Raises:
            CipherError: by a key that is not given.
            CorruptError: they were changed, or sealed for another place.
        """
        if self._cipher is None:
            return data
        key_id = data[1 : 1 + data[0]].decode("ascii", "replace") if data else ""
        if key_id not in self._cipher.key_ids:
            raise CipherError(f"the {place[0]} is sealed by the key {key_id}, which is not given", hint=_RETIRED)
        try:
            return self._cipher.decrypt(data[1 + data[0] :], _context(place), key_id)
        except ValueError:
            raise CorruptError(f"the {place[0]} was changed or moved", hint="run `lossless verify`") from None

    def seal_text(self, text: str, *place: str) -> str:
        """Seal a text as a text, for a place."""
        if self._cipher is None:
            return text
        return _TEXT + base64.b64encode(self.seal(text.encode("utf-8", "surrogatepass"), *place)).decode("ascii")

    def unseal_text(self, text: str, *place: str) -> str:
        """Give the text that was sealed for a place; raises as :meth:`unseal`, and where a plain text stands instead."""
        if self._cipher is None:
            return text
        try:
            data = base64.b64decode(text.removeprefix(_TEXT), validate=True) if text.startswith(_TEXT) else b""
        except binascii.Error:
            data = b""
        if not data:
            raise CorruptError(f"the {place[0]} was changed: it is not sealed", hint="run `lossless verify`")
        return self.unseal(data, *place).decode("utf-8", "surrogatepass")

    def name(self, secret: bytes, name: str, *place: str) -> str:
        """Give what a name that tells content is stored as, the same each time, so that a row is found by it."""
        if self._cipher is None:
            return name
        return hmac.digest(secret, _context((*place, name)), "sha256").hex()

    def sealed_secret(self, namespace: str, secret: bytes) -> bytes:
        """Seal the secret of a namespace."""
        return self.seal(secret, "secret of the namespace", namespace)

    def opened_secret(self, namespace: str, secret: bytes, sealed_by: str | None) -> bytes:
        """Give the secret of a namespace.

        Raises:
            CipherError: it is encrypted by a key that is not given, or is not encrypted although there is a cipher.
        """
        named = f"the namespace {namespace}"
        if sealed_by is None:
            if self._cipher is not None:
                raise CipherError(f"{named} is not encrypted, but a cipher is given", hint=_UNENCRYPTED)
            return bytes(secret)
        if self._cipher is None:
            raise CipherError(f"{named} is encrypted (key {sealed_by})", hint=_ENCRYPTED)
        if sealed_by not in self._cipher.key_ids:
            raise CipherError(f"{named} is encrypted by another key ({sealed_by})", hint=_RETIRED)
        return self.unseal(secret, "secret of the namespace", namespace)


_ENCRYPTED = "give Engine(cipher=AesGcmCipher(key))"
_UNENCRYPTED = "leave the cipher out, or import its threads into a namespace that is encrypted from its first message on"
_RETIRED = "give the right key; of one that was replaced, AesGcmCipher(new, retired=[old])"


def vault_of(connection: Connection) -> Vault:
    """Give the vault of the database behind a connection."""
    found = connection.get_execution_options().get(VAULT)
    return found if isinstance(found, Vault) else Vault()


def _context(place: tuple[str, ...]) -> bytes:
    """Write a place so that no two are the same."""
    parts = [part.encode("utf-8", "surrogatepass") for part in place]
    return b"lossless/1" + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
