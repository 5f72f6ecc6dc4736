"""The demo session: a payments company moves twenty services to a new ledger, with an agent doing the work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lossless.cli.demo_session.chapters import move
from lossless.cli.demo_session.dice import Dice
from lossless.cli.demo_session.frame import FRAME, closing, opening
from lossless.cli.demo_session.incidents import AFTER
from lossless.cli.demo_session.recorder import Recorder
from lossless.cli.demo_session.services import SERVICES

__all__ = ["DEMO_QUESTION", "DemoQuestion", "demo_session"]

_SEED = 20241111


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuestion:
    """A question about something that was said once, early in the session.

    Attributes:
        text: the question, as a person asks it.
        pattern: what to search for; the message with the answer is among the hits.
        answer: the words of that message that answer it; they stand nowhere else in the session.
        facts: pieces of the answer that a complete answer names.
    """

    text: str
    pattern: str
    answer: str
    facts: tuple[str, ...]


DEMO_QUESTION = DemoQuestion(
    text="Under which approval do we move the ledger, until when may we roll back, and why does the gateway listen on port 7443?",
    pattern="change board",
    answer=FRAME,
    facts=("CHG-20517", "Thursday 14 November, 18:00 CET", "8443 belongs to the fraud sidecar"),
)


def demo_session() -> list[dict[str, Any]]:
    """Write the session: OpenAI chat messages without ids, the same at every call."""
    recorder = Recorder(Dice(_SEED), datetime(2024, 11, 11, 8, 42))
    opening(recorder)
    for place, service in enumerate(SERVICES, start=1):
        move(recorder, service, hand_over=place < len(SERVICES) and place not in AFTER)
        if incident := AFTER.get(place):
            incident(recorder)
    closing(recorder)
    return recorder.end()
