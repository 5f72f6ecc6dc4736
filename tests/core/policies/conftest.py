"""Fixtures: counters to write budgets in, and conversations to write notes of."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from lossless.tokens import TokenCounter, counter_for

ROOT = Path(__file__).parents[3]
AIRLINE = ROOT.parent / "shared" / "data" / "tau_airline.jsonl.gz"


class PieceCounter:
    """Counts words and signs: exact about itself, fast, and independent of any vocabulary."""

    name = "pieces"
    exact = True

    def count(self, text: str) -> int:
        return len(re.findall(r"\w{1,5}|[^\w\s]|\n", text))


class RoundingCounter:
    """Counts four characters as one token, rounded down: the parts of a text count less than the whole."""

    name = "rounding"
    exact = False

    def count(self, text: str) -> int:
        return len(text) // 4


@pytest.fixture(scope="session")
def pieces() -> TokenCounter:
    return PieceCounter()


@pytest.fixture(scope="session", params=["pieces", "rounding", "tiktoken"])
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    if request.param == "tiktoken":
        return counter_for()
    return PieceCounter() if request.param == "pieces" else RoundingCounter()


@pytest.fixture(scope="session")
def airline() -> list[list[dict[str, Any]]]:
    """150 real conversations of an agent with a customer of an airline, without the system prompt."""
    if not AIRLINE.exists():
        pytest.skip("the airline conversations are not here (../shared/data/tau_airline.jsonl.gz)")
    with gzip.open(AIRLINE, "rt", encoding="utf-8") as lines:
        conversations = [json.loads(line)["messages"] for line in lines]
    return [[message for message in messages if message["role"] != "system"] for messages in conversations]


def _call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def _answer(number: int, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": content}


@pytest.fixture
def workshop() -> list[dict[str, Any]]:
    """A made conversation with everything in it: amounts, ids, paths, records, a table, a failure, a conclusion, a decision."""
    order = {
        "order_id": "ORD-7731",
        "customer": {"name": "Ada Byron", "email": "ada@example.org", "zip": "10115"},
        "lines": [
            {"sku": "CH-19", "quantity": 3, "unit_price": 45.5},
            {"sku": "LA-02", "quantity": 2, "unit_price": 30},
        ],
        "express": False,
    }
    log = "2026-03-01 10:00:00 ERROR disk full on /dev/sda1\nretries: 4\nconfig loaded from /etc/shop/app.yaml"
    return [
        {"role": "user", "content": "My order is ORD-7731, and it must arrive before May 20th. I paid $151.50 by card 7447."},
        _call(1, "get_order", {"order_id": "ORD-7731"}),
        _answer(1, json.dumps(order)),
        {"role": "assistant", "content": "Your order has 5 pieces and comes to $196.50 in total."},
        {"role": "user", "content": "So $196.50? I think the discount was 10 %, not sure. Please proceed with express delivery."},
        _call(2, "update_order", {"order_id": "ORD-7731", "express": True}),
        _answer(2, "Error: order ORD-7731 is locked by worker-12"),
        _call(3, "read_log", {"service": "shop"}),
        _answer(3, log),
        _call(4, "list_slots", {"city": "Berlin"}),
        _answer(4, "slot,day,hours\nS1,2026-05-18,8-12\nS2,2026-05-19,12-16\nS3,2026-05-21,8-12\n"),
        {"role": "assistant", "content": "I will retry the update tonight. TODO: ask the warehouse about the lock."},
    ]
