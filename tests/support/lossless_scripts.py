"""The scripted models that tests try one after the other."""

from __future__ import annotations

from lossless.testing import INJECTIONS, SCRIPTS, ScriptedModel, honest

__all__ = ["ADVERSARIES", "INJECTIONS", "Counting", "honest"]

ADVERSARIES = SCRIPTS
Counting = ScriptedModel
