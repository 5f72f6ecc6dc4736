"""The key of an encrypted database: from ``$LOSSLESS_KEY`` or ``--key-file``, never from the command line, which others see."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lossless import Cipher

__all__ = ["given_cipher", "with_key_file"]

_HELP = "The key of an encrypted database; keys that were replaced may follow, one a line. [default: $LOSSLESS_KEY]"
_Option = Annotated[Path | None, typer.Option("--key-file", metavar="FILE", help=_HELP)]
_key_file: ContextVar[Path | None] = ContextVar("key_file", default=None)


def with_key_file(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that opens a database the option ``--key-file``."""
    signature = inspect.signature(command, eval_str=True)
    if "url" not in signature.parameters:
        return command

    @functools.wraps(command)
    def run(*arguments: Any, key_file: Path | None = None, **options: Any) -> Any:
        token = _key_file.set(key_file)
        try:
            return command(*arguments, **options)
        finally:
            _key_file.reset(token)

    added = inspect.Parameter("key_file", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Option)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**{name: each.annotation for name, each in signature.parameters.items()}, "key_file": _Option}
    return run


def given_cipher() -> Cipher | None:
    """Give the cipher that the user has a key for, or None.

    Raises:
        ConfigError: what is given is no key.
    """
    from lossless.store.cipher import KEY_VARIABLE, AesGcmCipher

    path = _key_file.get()
    if path is not None:
        return AesGcmCipher.from_file(path)
    return AesGcmCipher.from_env() if os.environ.get(KEY_VARIABLE) else None
