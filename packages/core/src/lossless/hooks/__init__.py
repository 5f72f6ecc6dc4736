"""Hooks: what plugins may do, and the plugins of one engine."""

from lossless.hooks.manager import Plugins
from lossless.hooks.specs import hookimpl, hookspec

__all__ = ["Plugins", "hookimpl", "hookspec"]
