"""For tests: scripted models instead of real ones, and a guard that tells when a real one was called all the same."""

from lossless.testing.notes import assert_correctable
from lossless.testing.permission import RealModelCallError, no_real_models
from lossless.testing.scripts import INJECTIONS, SCRIPTS, Script, ScriptedModel, dead_until, honest, slow

__all__ = [
    "INJECTIONS",
    "SCRIPTS",
    "RealModelCallError",
    "Script",
    "ScriptedModel",
    "assert_correctable",
    "dead_until",
    "honest",
    "no_real_models",
    "slow",
]
