"""What a verification finds, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "FindingKind", "Report"]

FindingKind = Literal[
    "payload",
    "message",
    "chain",
    "counter",
    "head",
    "view",
    "summary",
    "snapshot",
    "checkpoint",
    "index",
    "row",
    "guard",
    "database",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that does not match.

    Attributes:
        kind: ``payload``, ``message``, ``chain``: of a message; ``counter``: of a head; ``index``: of the search index; ``head``,
            ``view``, ``summary``, ``snapshot``, ``checkpoint``: of these; ``row``: one that refers to nothing or that nothing
            refers to; ``guard``: a trigger that keeps rows as they are; ``database``: what the database says of itself.
        text: in words, without the thread.
        thread_id: the thread it was found in, or None.
        seq: of the message that is meant, or None; ``message_id`` likewise.
    """

    kind: FindingKind
    text: str
    thread_id: str | None = None
    seq: int | None = None
    message_id: str | None = None

    def __str__(self) -> str:
        return self.text if self.thread_id is None else f"thread {self.thread_id}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a verification found.

    Attributes:
        findings: what does not match.
        threads: how many threads were looked at, and ``messages`` how many messages.
    """

    findings: tuple[Finding, ...]
    threads: int
    messages: int

    @property
    def ok(self) -> bool:
        """Whether everything matches."""
        return not self.findings

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not match, in words, each naming its thread, and the message, summary or view that is meant."""
        return tuple(map(str, self.findings))
