"""A message of tens of megabytes: stored, given back byte for byte, said to be too large for a context, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CHILD = textwrap.dedent(
    """
    import base64, hashlib, json, random, resource, sys, time
    from lossless import AesGcmCipher, Engine

    url, size, kind, key = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    line = "The build failed in services/billing/retry.py after 1204 seconds, code 7. "
    text = (line * (size // len(line) + 1))[:size]
    if kind == "noise":
        text = base64.b64encode(random.Random(7).randbytes(size * 3 // 4)).decode()
    cipher = AesGcmCipher(key) if key else None
    with Engine(url, window=32_000, cipher=cipher, load_plugins=False, background=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}])
        engine.counter.count("loaded")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        thread.append({"role": "user", "content": text, "id": "large"})
        took = time.perf_counter() - begun
        (found,) = thread.expand("large")
        assert hashlib.sha256(found.payload["content"].encode()).digest() == hashlib.sha256(text.encode()).digest()
        context = thread.context()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        thread.append({"role": "assistant", "content": "That is a long one."})
        print(json.dumps({
            "seconds": took, "peak": (peak - before) * 1024, "status": context.status, "reason": context.reason,
            "tokens": context.tokens, "large": found.tokens, "first": context.messages[0]["content"],
            "again": len(thread.append({"role": "user", "content": text, "id": "large"})), "messages": len(thread.messages()),
        }))
    """
)


def stored(url: str, size: int, kind: str, key: str = "") -> dict[str, object]:
    """Store a large message in a process of its own, whose memory is measured."""
    ran = subprocess.run([sys.executable, "-c", CHILD, url, str(size), kind, key], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def check(done: dict[str, object], size: int, times: int = 10) -> None:
    assert done["status"] == "exhausted"
    assert "large" in str(done["reason"])
    assert int(str(done["tokens"])) < 32_000 < int(str(done["large"]))
    assert done["first"] == "Be brief."
    assert (done["again"], done["messages"]) == (1, 4)
    assert float(str(done["peak"])) < times * size + 100_000_000, "memory grows by more than a few times the message"


def test_a_large_message_is_kept_and_said_to_be_too_large(tmp_path: Path) -> None:
    check(stored(f"sqlite:///{tmp_path / 'own.db'}", 8_000_000, "words"), 8_000_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("key", ["", "11" * 32])
@pytest.mark.parametrize("what", ["words", "noise"])
def test_a_message_of_50_megabytes_is_kept_on_both_databases(url: str, what: str, key: str) -> None:
    # Without spaces and not encrypted, a text is one token after the other for the search index: that takes the most.
    check(stored(url, 50_000_000, what, key), 50_000_000, 30 if what == "noise" and not key else 10)
