"""The command line. Data goes to stdout, talk to stderr; one module a command."""

from __future__ import annotations

from lossless.cli.app import main

__all__ = ["main"]
