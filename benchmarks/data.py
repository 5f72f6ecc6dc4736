"""Conversations to measure with: deterministic, every message its own, about 400 characters each, tool calls included.

They read like an agent at work on a service: a person asks, the agent calls tools and answers. Sentences are put together from
real words with figures, ids, paths, dates and amounts among them, since those decide what counting, search and extraction cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

__all__ = ["conversation", "stream", "turns"]

_SUBJECTS = (
    "the invoice importer", "the login page", "our nightly export", "the search service", "the payment queue", "that migration",
    "the retry logic", "the customer table", "the staging cluster", "the rate limiter", "the report for March", "the image cache",
    "the session store", "the billing webhook", "the audit trail", "the password reset", "the mobile client", "the feature flag",
)  # fmt: skip
_VERBS = (
    "fails with a timeout", "returns stale rows", "takes far too long", "drops the last record", "writes duplicate entries",
    "ignores the new setting", "needs a second look", "was changed without review", "works again after a restart",
    "blocks the release", "should be measured first", "has to stay compatible", "logs more than it should", "looks correct now",
)  # fmt: skip
_CIRCUMSTANCES = (
    "when two workers run at once", "since the upgrade on Tuesday", "for customers in Europe", "under heavy load",
    "whenever the cache is cold", "after the connection is reset", "if the amount is negative", "with an empty password",
    "in the second page of results", "because the index is missing", "although the tests pass", "as far as I can tell",
)  # fmt: skip
_ASKS = (
    "Please find out why.", "Can you check the logs and tell me what changed?", "Keep the total under {money}.",
    "The deadline is {date}.", "We must not touch {path}.", "Order {order} belongs to the same customer.",
    "Use version {version}, nothing newer.", "I would like a short answer first.", "Don't restart anything before {time}.",
)  # fmt: skip
_ANSWERS = (
    "I read {path} and found {count} places that match.", "The error first shows up at {time} with code {code}.",
    "Order {order} was charged {money} on {date}.", "I will change the limit to {count} and run the tests again.",
    "The commit {hash} introduced it.", "After the change {count} of {count} checks pass.", "Latency went down to {millis} ms.",
    "I decided to keep the old column, since {path} still reads it.", "Next I compare both outputs line by line.",
)  # fmt: skip
_TOOLS = ("read_file", "run_tests", "query_database", "search_code", "get_order", "list_events")
_FOLDERS = ("src", "services/billing", "services/search", "web/app", "jobs", "lib/storage", "tests/unit", "deploy")
_FILES = ("retry.py", "queue.ts", "invoice.sql", "settings.toml", "session.go", "export.py", "limits.yaml", "worker.rs")
_LEVELS = ("INFO", "WARN", "ERROR", "DEBUG")


def conversation(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Give the first ``count`` messages of a conversation, as OpenAI-style dicts; it may end inside a unit."""
    return list(islice(stream(seed), count))


def turns(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Give the first ``count`` turns of a conversation: each from what a person asks to the answer, 5.5 messages on average."""
    given: list[dict[str, Any]] = []
    asked = 0
    for message in stream(seed):
        asked += message["role"] == "user"
        if asked > count:
            return given
        given.append(message)
    raise AssertionError("a stream has no end")


def stream(seed: int = 0) -> Iterator[dict[str, Any]]:
    """Give a conversation without an end, message by message."""
    random = Random(seed)
    turn = 0
    yield {"role": "system", "content": "You are a careful engineer. " + _sentences(random, 2)}
    while True:
        turn += 1
        asked = " ".join(_fill(random, ask) for ask in random.sample(_ASKS, 2))
        yield {"role": "user", "content": f"{_sentences(random, 4)} {asked}"}
        for step in range(random.choice((1, 1, 2, 3))):
            id = f"call_{seed}_{turn}_{step}"
            name = random.choice(_TOOLS)
            arguments = {"path": _fill(random, "{path}"), "order": _fill(random, "{order}"), "limit": random.randint(5, 500)}
            call = {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            yield {"role": "assistant", "content": _sentences(random, 2), "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": id, "content": _result(random)}
        said = " ".join(_fill(random, answer) for answer in random.sample(_ANSWERS, 4))
        yield {"role": "assistant", "content": f"{said} {_sentences(random, 3)}"}


def _result(random: Random) -> str:
    """What a tool answers: records as JSON, or lines of a log."""
    if random.random() < 0.5:
        rows = [
            {"id": _fill(random, "{order}"), "amount": round(random.uniform(1, 2_000), 2), "at": _fill(random, "{date}T{time}Z")}
            for _row in range(random.randint(5, 11))
        ]
        return json.dumps({"rows": rows, "next": random.randint(100, 99_999)})
    template = "{date} {time} level {path}: {hash} took {millis} ms"
    lines = [_fill(random, template).replace("level", random.choice(_LEVELS)) for _line in range(random.randint(5, 11))]
    return "\n".join(lines)


def _sentences(random: Random, count: int) -> str:
    said = (f"{random.choice(_SUBJECTS)} {random.choice(_VERBS)} {random.choice(_CIRCUMSTANCES)}." for _sentence in range(count))
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in said)


def _fill(random: Random, template: str) -> str:
    """Fill in each placeholder with a value of its own."""
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}")
        filled.append(_value(random, name) + rest)
    return "".join(filled)


def _value(random: Random, name: str) -> str:
    number = random.randint(10, 99_999)
    match name:
        case "money":
            return f"{number:,}.{number % 90 + 10} EUR"
        case "date":
            return f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}"
        case "time":
            return f"{number % 24:02}:{number % 60:02}:{number // 7 % 60:02}"
        case "path":
            return f"{random.choice(_FOLDERS)}/{number % 400}/{random.choice(_FILES)}"
        case "order":
            return f"ORD-{number:05}-{random.choice('ABCDEF')}"
        case "version":
            return f"{number % 9}.{number % 40}.{number % 13}"
        case "hash":
            return f"{random.getrandbits(64):016x}"
        case "code":
            return f"E{number % 900 + 100}"
        case _:
            return str(number % 1_000)
