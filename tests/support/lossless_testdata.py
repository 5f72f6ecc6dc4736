"""Real conversations and reported failures that lie beside the checkout, in ``../shared``; absent ones skip the test."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

__all__ = ["SHARED", "tau_conversations", "trim_cases"]

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def tau_conversations(limit: int | None = None) -> list[dict[str, Any]]:
    """Read 150 real customer service conversations: ``id``, ``reward`` and ``messages`` (OpenAI dicts with calls and results).

    Args:
        limit: only the first so many.
    """
    with gzip.open(_found(SHARED / "data" / "tau_airline.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, limit)]


def trim_cases() -> list[dict[str, Any]]:
    """Read the reported trim and validity failures, their text macros written out.

    Works inside a test and as the argument of ``parametrize`` (then the whole module is skipped where the file is absent).
    """
    cases: list[dict[str, Any]] = json.loads(_found(SHARED / "cases" / "trim_examples.json").read_text(encoding="utf-8"))
    return [_written_out(case) for case in cases]


def _found(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside this checkout", allow_module_level=True)
    return path


def _written_out(value: Any) -> Any:
    if isinstance(value, list):
        return [_written_out(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$lines", "$of"}:
        return "\n".join(value["$of"].replace("{n}", str(number)) for number in range(1, value["$lines"] + 1))
    if value.keys() == {"$times", "$of"}:
        return str(value["$of"]) * int(value["$times"])
    return {key: _written_out(inner) for key, inner in value.items()}
