"""What is usual of a message is not stored, and every statement gives it back."""

from __future__ import annotations

import re
from pathlib import Path

import lossless
from lossless import Engine

KNOWING = {"usual.py", "ids.py", "read.py"}
BARE = re.compile(r"_MESSAGE\.c\.(id|role|format|unit|place)\b")


def test_no_statement_reads_a_usual_value_bare() -> None:
    core = Path(lossless.__file__).parent
    found = [
        path.name for path in core.rglob("*.py") if path.name not in KNOWING and BARE.search(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "read these columns through lossless.store.usual"


def test_usual_and_unusual_messages_come_back_as_they_were_given(url: str) -> None:
    said = [("user", None), ("assistant", "m_1"), ("assistant", "m_3"), ("assistant", "given"), ("assistant", None)]
    with Engine(url, load_plugins=False) as engine:
        thread = engine.thread("t")
        for role, id in said:
            thread.append({"role": role, "content": f"said {role}"} | ({"id": id} if id else {}))
        found = [(message.seq, message.id, message.role, message.format) for message in thread.messages()]
        ids = {2: "m_1", 3: "m_3", 4: "given", 5: "m_5"}  # the second message is another version of the first
        assert found == [(seq, id, "assistant", "openai/1") for seq, id in ids.items()]
        assert [thread.expand(id)[0].seq for id in ("m_3", "given", "m_5")] == [3, 4, 5]
        assert {hit.seq for hit in thread.grep("said", role="assistant")} == {2, 3, 4, 5}
        assert engine.verify().ok
