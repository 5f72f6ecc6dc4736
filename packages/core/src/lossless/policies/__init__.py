"""How notes are written from sources: source items, policies, completeness, and the witness that checks them."""

from lossless.policies.completion import complete
from lossless.policies.decisions import decisions
from lossless.policies.extract import extract
from lossless.policies.model import Decision, Note, Policy, Regime, SourceItem, Summarizer, SummarizeRequest, Witness
from lossless.policies.registry import builtin_policies, get
from lossless.policies.source_first import SourceFirst
from lossless.policies.sources import as_sources
from lossless.policies.witness import witness

__all__ = [
    "Decision",
    "Note",
    "Policy",
    "Regime",
    "SourceFirst",
    "SourceItem",
    "SummarizeRequest",
    "Summarizer",
    "Witness",
    "as_sources",
    "builtin_policies",
    "complete",
    "decisions",
    "extract",
    "get",
    "witness",
]
