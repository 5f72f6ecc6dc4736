"""The recorder: writes down who says what, as OpenAI chat messages, while the clock goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lossless.cli.demo_session.dice import Dice

__all__ = ["Recorder", "Use"]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a tool: its name, its arguments, and what it answers (text, or a value written as JSON)."""

    tool: str
    arguments: dict[str, Any]
    answer: Any


class Recorder:
    """A session in the making.

    Attributes:
        dice: where chance comes from.
        now: the time in the story.
        messages: what was said so far.
    """

    def __init__(self, dice: Dice, now: datetime) -> None:
        self.dice = dice
        self.now = now
        self.messages: list[dict[str, Any]] = []
        self._said: list[str] = []
        self._left: dict[tuple[str, ...], list[str]] = {}

    def system(self, text: str) -> None:
        """Give the agent its instructions."""
        self.messages.append({"role": "system", "content": text})

    def user(self, text: str) -> None:
        """Let the person speak."""
        self._finish_turn()
        self._pass_minutes(2, 14)
        self.messages.append({"role": "user", "content": text})

    def say(self, text: str) -> None:
        """Let the agent speak; what it does in the same turn follows in the same message."""
        self._pass_minutes(1, 3)
        self._said.append(text)

    def use(self, text: str | None, *uses: Use) -> None:
        """Let the agent use tools, several at once if several are given, and write down their answers."""
        self._pass_minutes(1, 6)
        said = [*self._said, text] if text else self._said
        self._said = []
        calls = []
        for use in uses:
            function = {"name": use.tool, "arguments": json.dumps(use.arguments, ensure_ascii=False)}
            calls.append({"id": f"call_{self.dice.letters(24)}", "type": "function", "function": function})
        self.messages.append({"role": "assistant", "content": "\n\n".join(said) or None, "tool_calls": calls})
        for call, use in zip(calls, uses, strict=True):
            answer = use.answer if isinstance(use.answer, str) else json.dumps(use.answer, ensure_ascii=False)
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})

    def end(self) -> list[dict[str, Any]]:
        """Give the whole session."""
        self._finish_turn()
        return self.messages

    def _finish_turn(self) -> None:
        if self._said:
            self.messages.append({"role": "assistant", "content": "\n\n".join(self._said)})
            self._said = []

    def phrase(self, phrases: tuple[str, ...], **fields: object) -> str:
        """Give one of several phrases, none again before the others were used."""
        left = self._left.setdefault(phrases, [])
        if not left:
            left.extend(phrases)
        return left.pop(self.dice.between(0, len(left) - 1)).format(**fields)

    def clock(self) -> str:
        """Give the time in the story, for people."""
        return f"{_DAYS[self.now.weekday()]} {self.now:%H:%M}"

    def seconds(self) -> int:
        """Give the time in the story, for machines."""
        return int(self.now.replace(tzinfo=UTC).timestamp())

    def _pass_minutes(self, low: int, high: int) -> None:
        self.now += timedelta(minutes=self.dice.between(low, high), seconds=self.dice.between(0, 59))
        if self.now.hour >= 19:
            self.now = self.now.replace(hour=8, minute=self.dice.between(5, 40)) + timedelta(days=1)
