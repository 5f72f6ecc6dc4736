"""Lossless: context memory for long-running agents that never loses its sources.

Importing this package does no I/O and loads neither a database nor a framework; names are loaded when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lossless.hooks import hookimpl
from lossless.hooks import specs as hookspecs

if TYPE_CHECKING:
    from lossless import errors, policies, summarizers, testing
    from lossless.compaction.foresight import CompactionPlan, PlannedSummary
    from lossless.compaction.guard import SpendLimit
    from lossless.compaction.model import CompactionResult
    from lossless.context.budget import Budget
    from lossless.context.model import ActiveContext, ContextItem
    from lossless.dag.history import ViewDiff, ViewRecord
    from lossless.dag.rearranging import Shown
    from lossless.dag.threads import ThreadInfo
    from lossless.engine import Engine
    from lossless.erasure import Collected, Erasure, Removal, Retention, Tombstone
    from lossless.errors import LosslessError
    from lossless.integrity import Backup, Diagnosis, Finding, Report
    from lossless.messages import Message, MessageRef
    from lossless.policies.model import Answer, Note, SourceItem, Summarizer, SummarizeRequest, Usage, Witness
    from lossless.redaction import SecretRedactor
    from lossless.store.cipher import AesGcmCipher, Cipher
    from lossless.store.pages import Page
    from lossless.store.search import Hit
    from lossless.summarizers.breaker import BreakerRules
    from lossless.summarizers.fallback import FallbackSummarizer
    from lossless.summarizers.openai_chat import OpenAISummarizer
    from lossless.thread import Thread
    from lossless.versions import Snapshot

_HOMES = {
    "ActiveContext": "lossless.context.model",
    "AesGcmCipher": "lossless.store.cipher",
    "Answer": "lossless.policies.model",
    "Backup": "lossless.integrity",
    "BreakerRules": "lossless.summarizers.breaker",
    "Budget": "lossless.context.budget",
    "Cipher": "lossless.store.cipher",
    "Collected": "lossless.erasure",
    "CompactionPlan": "lossless.compaction.foresight",
    "CompactionResult": "lossless.compaction.model",
    "ContextItem": "lossless.context.model",
    "Diagnosis": "lossless.integrity",
    "Engine": "lossless.engine",
    "Erasure": "lossless.erasure",
    "FallbackSummarizer": "lossless.summarizers.fallback",
    "Finding": "lossless.integrity",
    "Hit": "lossless.store.search",
    "LosslessError": "lossless.errors",
    "Message": "lossless.messages",
    "MessageRef": "lossless.messages",
    "Note": "lossless.policies.model",
    "OpenAISummarizer": "lossless.summarizers.openai_chat",
    "Page": "lossless.store.pages",
    "PlannedSummary": "lossless.compaction.foresight",
    "Removal": "lossless.erasure",
    "Report": "lossless.integrity",
    "Retention": "lossless.erasure",
    "SecretRedactor": "lossless.redaction",
    "Shown": "lossless.dag.rearranging",
    "Snapshot": "lossless.versions",
    "SourceItem": "lossless.policies.model",
    "SpendLimit": "lossless.compaction.guard",
    "SummarizeRequest": "lossless.policies.model",
    "Summarizer": "lossless.policies.model",
    "Thread": "lossless.thread",
    "ThreadInfo": "lossless.dag.threads",
    "Tombstone": "lossless.erasure",
    "Usage": "lossless.policies.model",
    "ViewDiff": "lossless.dag.history",
    "ViewRecord": "lossless.dag.history",
    "Witness": "lossless.policies.model",
}

_ROOMS = ("errors", "policies", "summarizers", "testing")
"""What is used by its full name, such as ``lossless.policies.get``."""

__all__ = [
    "ActiveContext",
    "AesGcmCipher",
    "Answer",
    "Backup",
    "BreakerRules",
    "Budget",
    "Cipher",
    "Collected",
    "CompactionPlan",
    "CompactionResult",
    "ContextItem",
    "Diagnosis",
    "Engine",
    "Erasure",
    "FallbackSummarizer",
    "Finding",
    "Hit",
    "LosslessError",
    "Message",
    "MessageRef",
    "Note",
    "OpenAISummarizer",
    "Page",
    "PlannedSummary",
    "Removal",
    "Report",
    "Retention",
    "SecretRedactor",
    "Shown",
    "Snapshot",
    "SourceItem",
    "SpendLimit",
    "SummarizeRequest",
    "Summarizer",
    "Thread",
    "ThreadInfo",
    "Tombstone",
    "Usage",
    "ViewDiff",
    "ViewRecord",
    "Witness",
    "__version__",
    "errors",
    "hookimpl",
    "hookspecs",
    "policies",
    "summarizers",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("lossless")
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"lossless.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
