"""Train a compression dictionary for small payloads: ``uv run python scripts/train_dictionary.py FILE``.

It learns from text of our own only: the documentation and the docstrings, said by everybody who talks in a conversation, and
answers of tools that are made up here, each in all the formats that messages are stored in. A dictionary that databases have been
written with never changes; a better one is another file, with a codec of its own in ``lossless.store.blobs``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROOT = Path(__file__).resolve().parents[1]
SIZE = 32_768
"""Bytes of a dictionary. Half as many save 2 % less, twice as many 1 % more."""
CHUNK = 600
"""Characters of a sample, more or less."""

_NAMES = (
    "read_file", "write_file", "search", "run_command", "list_files", "get_user", "update_record", "send_email", "fetch_url",
    "query", "create_ticket",
)  # fmt: skip
_KEYS = (
    "id", "name", "status", "type", "value", "path", "created_at", "updated_at", "amount", "count", "title", "url", "email",
    "date", "time", "message", "total",
)  # fmt: skip
_STATES = (
    "open", "closed", "pending", "active", "failed", "done", "true", "false", "null", "ok", "error",
)  # fmt: skip
_FOLDERS = (
    "src", "lib", "tests", "app", "docs", "api", "core", "utils", "config", "scripts", "data", "build",
)  # fmt: skip
_FILES = (
    "main.py", "index.ts", "utils.js", "README.md", "config.yaml", "settings.json", "server.go", "test_api.py", "schema.sql",
    "package.json",
)  # fmt: skip
_LEVELS = (
    "INFO", "DEBUG", "WARNING", "ERROR",
)  # fmt: skip


def main(target: str) -> None:
    """Train a dictionary, and write it to a file that is not there yet."""
    random = Random(1)  # noqa: S311 - the same samples each time
    texts = [*paragraphs(), *code(), *(answer(random) for _sample in range(1_500))]
    samples = [encoded(form(random, text)) for text in texts for form in FORMS]
    dictionary = zstd.train_dict(samples, SIZE)
    with Path(target).open("xb") as file:
        file.write(dictionary.dict_content)
    sys.stdout.write(f"{len(samples):,} samples, {sum(map(len, samples)):,} bytes\n")


def paragraphs() -> Iterator[str]:
    """Give the documentation and the docstrings, paragraph by paragraph, as somebody would say them."""
    pages = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if page.name != "benchmarks.md"]
    docstrings = (re.findall(r'"""(.*?)"""', read(module), re.DOTALL) for module in modules())
    for text in [*map(read, pages), *(docstring for found in docstrings for docstring in found)]:
        for paragraph in text.split("\n\n"):
            if len(paragraph) > 60 and not paragraph.startswith(("|", "```")):
                yield re.sub(r"\s+", " ", paragraph).strip()[: 2 * CHUNK]


def code() -> Iterator[str]:
    """Give pieces of our modules, as a tool that reads files does."""
    for module in modules():
        text = read(module)
        yield from (text[start : start + CHUNK] for start in range(0, len(text), 8 * CHUNK))


def modules() -> list[Path]:
    """Give our modules, in an order that is always the same."""
    return sorted((ROOT / "packages" / "core" / "src").rglob("*.py"))


def read(path: Path) -> str:
    """Read a file."""
    return path.read_text(encoding="utf-8")


def encoded(payload: Any) -> bytes:
    """Write a payload as the store does."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def answer(random: Random) -> str:
    """Make up what a tool answers: records, a log, a listing, a table, a search's hits, or what went wrong."""
    make: Callable[[Random], str] = random.choice((records, records, log, listing, table, hits, failure))
    return make(random)


def records(random: Random) -> str:
    """Records as JSON, in either of the usual spacings."""
    keys = random.sample(_KEYS, random.randint(2, 6))
    rows = [{key: value(random, key) for key in keys} for _row in range(random.randint(1, 9))]
    shown: Any = (
        rows if random.random() < 0.4 else {random.choice(("results", "items", "data", "rows")): rows, "total": len(rows)}
    )
    return json.dumps(shown, separators=random.choice(((", ", ": "), (", ", ": "), (",", ":"))))


def log(random: Random) -> str:
    """Lines of a log."""
    said = ("request", "started", "finished", "connection", "timeout", "retry", "failed", "took", "worker")
    return "\n".join(
        f"{value(random, 'date')} {value(random, 'time')} {random.choice(_LEVELS)} {value(random, 'path')}: "
        f"{' '.join(random.sample(said, 3))} {random.randint(1, 999)} ms"
        for _line in range(random.randint(3, 9))
    )


def listing(random: Random) -> str:
    """Files of a folder."""
    return "\n".join(
        f"-rw-r--r-- 1 user user {random.randint(10, 99_999)} {value(random, 'date')} {value(random, 'path')}"
        for _line in range(random.randint(3, 9))
    )


def table(random: Random) -> str:
    """Records as CSV."""
    keys = random.sample(_KEYS, random.randint(3, 6))
    rows = [",".join(str(value(random, key)) for key in keys) for _row in range(random.randint(3, 12))]
    return "\n".join([",".join(keys), *rows])


def hits(random: Random) -> str:
    """Places that a search has found."""
    said = ("import", "return", "def", "class", "function", "const", "if", "for", "self", "raise", "None")
    return "\n".join(
        f"{value(random, 'path')}:{random.randint(1, 900)}: {' '.join(random.sample(said, 3))}"
        for _hit in range(random.randint(2, 9))
    )


def failure(random: Random) -> str:
    """What a command says that fails."""
    path, number = value(random, "path"), random.randint(1, 900)
    what = random.choice(
        ("ValueError: invalid value", "KeyError: 'id'", "FileNotFoundError: No such file or directory", "TimeoutError")
    )
    said = (
        f'Traceback (most recent call last):\n  File "/app/{path}", line {number}, in <module>\n    main()\n{what}',
        f"Error: {what}\nexit code {number % 127}",
        f'{{"error": {{"message": "{what}", "type": "invalid_request_error", "code": {number % 200 + 400}}}}}',
        f"FAILED {path}::test_it - AssertionError\n{number % 9} failed, {number % 99} passed in {number / 100:.2f}s",
    )
    return random.choice(said)


def value(random: Random, key: str) -> Any:
    """Make up the value of a key."""
    number = random.randint(1, 99_999)
    date = f"{random.choice((2023, 2024, 2025, 2026))}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    time = f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"
    match key:
        case "date":
            return date
        case "time":
            return time
        case "created_at" | "updated_at":
            return f"{date}T{time}Z"
        case "path":
            return f"{random.choice(_FOLDERS)}/{random.choice(_FOLDERS)}/{random.choice(_FILES)}"
        case "amount" | "value":
            return round(number / 100, 2)
        case "status" | "type":
            return random.choice(_STATES)
        case "url":
            return f"https://example.com/{random.choice(_FOLDERS)}/{number}"
        case "email":
            return f"user{number}@example.com"
        case "id":
            return random.choice((number, f"{random.getrandbits(64):016x}", f"ID-{number}"))
        case _:
            return number


def call_id(random: Random) -> str:
    """Make up the id of a call."""
    return f"call_{random.getrandbits(48):012x}"


def arguments(random: Random) -> dict[str, Any]:
    """Make up the arguments of a call."""
    return {key: value(random, key) for key in random.sample([*_KEYS, "query", "limit"], random.randint(1, 3))}


def openai_call(random: Random, text: str) -> dict[str, Any]:
    """Say something, and call a tool."""
    function = {"name": random.choice(_NAMES), "arguments": json.dumps(arguments(random))}
    call = {"id": call_id(random), "type": "function", "function": function}
    return {"role": "assistant", "content": random.choice((None, text)), "tool_calls": [call]}


def anthropic_call(random: Random, text: str) -> dict[str, Any]:
    """Say something, and use a tool."""
    use = {
        "type": "tool_use",
        "id": f"toolu_{random.getrandbits(64):x}",
        "name": random.choice(_NAMES),
        "input": arguments(random),
    }
    return {"role": "assistant", "content": [{"type": "text", "text": text}, use]}


def anthropic_result(random: Random, text: str) -> dict[str, Any]:
    """Give the result of a use."""
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{random.getrandbits(64):x}",
        "content": [{"type": "text", "text": text}],
    }
    return {"role": "user", "content": [result]}


def langchain_ai(random: Random, text: str) -> dict[str, Any]:
    """What a chat model of LangChain says."""
    call = {"name": random.choice(_NAMES), "args": arguments(random), "id": call_id(random), "type": "tool_call"}
    usage = {
        "input_tokens": random.randint(1, 9_999),
        "output_tokens": random.randint(1, 999),
        "total_tokens": random.randint(1, 9_999),
    }
    ending = {"finish_reason": random.choice(("stop", "tool_calls")), "model_name": "model", "token_usage": usage}
    data = {"content": text, "response_metadata": ending, "id": f"run-{random.getrandbits(64):x}"}
    return {"type": "ai", "data": {**data, "tool_calls": [call], "usage_metadata": usage}}


FORMS: tuple[Callable[[Random, str], dict[str, Any]], ...] = (
    lambda _random, text: {"role": "user", "content": text},
    lambda _random, text: {"role": "assistant", "content": text},
    lambda random, text: {"role": "tool", "tool_call_id": call_id(random), "content": text},
    openai_call,
    lambda _random, text: {"role": "user", "content": [{"type": "text", "text": text}]},
    anthropic_call,
    anthropic_result,
    lambda _random, text: {"type": "human", "data": {"content": text}},
    langchain_ai,
    lambda random, text: {
        "type": "tool",
        "data": {"content": text, "name": random.choice(_NAMES), "tool_call_id": call_id(random)},
    },
    lambda _random, text: {"role": "assistant", "blocks": [{"block_type": "text", "text": text}], "additional_kwargs": {}},
)
"""How a text is said in each of the formats."""


if __name__ == "__main__":
    main(sys.argv[1])
