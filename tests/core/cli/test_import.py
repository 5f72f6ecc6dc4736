"""Importing: each conversation gets its thread, nothing is stored twice, and what can't be read is named."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless import Engine
from lossless.cli import importing, main
from lossless.cli.matching import compare
from lossless.compaction.turns import Turns
from lossless.transcripts.reader import FORMATS
from lossless_testdata import SHARED, tau_conversations

Run = Callable[..., Any]
Talk = Callable[[int], list[dict[str, Any]]]


def write(path: Path, values: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def user(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def stored(thread: str, url: str = "sqlite:///lossless.db") -> list[Any]:
    with Engine(url, create=False) as engine:
        return [message.payload for message in engine.thread(thread).messages(deleted=True)]


def threads(url: str = "sqlite:///lossless.db") -> list[str]:
    with Engine(url, create=False) as engine:
        return sorted(thread.id for thread in engine.threads(limit=1_000))


def test_the_formats_are_those_that_the_reader_knows(run: Run) -> None:
    assert "|".join(FORMATS) in run("import", "--help").out


def test_a_file_becomes_a_thread_of_its_name(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = write(tmp_path / "harbour.log.jsonl", talk(3))
    done = run("import", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("1 thread (harbour.log): 13 messages added, ")
    assert stored("harbour.log") == talk(3)


def test_a_packed_file_loses_both_endings(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = tmp_path / "harbour.jsonl.gz"
    path.write_bytes(gzip.compress(write(tmp_path / "plain.jsonl", talk(2)).read_bytes()))
    run("import", path)
    assert threads() == ["harbour"]


def test_each_line_of_whole_conversations_becomes_a_thread(run: Run, tmp_path: Path) -> None:
    lines = [
        {"id": "first", "messages": user("a")},
        {"messages": user("b")},
        user("c"),
        {"id": 7, "messages": user("d")},
        {"id": "first", "messages": user("e")},
    ]
    document = run("import", write(tmp_path / "many.jsonl", lines), "--json").document
    assert [thread["id"] for thread in document["threads"]] == ["first", "many", "many-2", "7", "first-2"]
    assert stored("first-2") == user("e")


def test_a_thread_that_is_named_gets_everything_of_one_conversation(run: Run, talk: Talk, tmp_path: Path) -> None:
    run("import", write(tmp_path / "one.jsonl", talk(2)), "--thread", "harbour")
    run("import", write(tmp_path / "two.jsonl", user("Something else.")), "--thread", "harbour")
    assert stored("harbour") == talk(2) + user("Something else.")
    assert run("import", tmp_path / "one.jsonl", tmp_path / "two.jsonl", "--thread", "harbour", "--json").document["added"] == 1
    assert threads() == ["harbour", "harbour-2"]


@pytest.mark.parametrize("arguments", [(), ("--thread", "mine")])
def test_importing_again_adds_nothing(run: Run, talk: Talk, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    files = [write(tmp_path / "a.jsonl", talk(5)), write(tmp_path / "b.jsonl", [talk(1), talk(1), user("x", "x", "x")])]
    first = run("import", *files, *arguments, "--json").document
    again = run("import", *files, *arguments, "--json").document
    assert first["added"] == 21 + 5 + 5 + 3
    assert again["added"] == again["tokens"] == 0
    assert [thread["id"] for thread in again["threads"]] == [thread["id"] for thread in first["threads"]]
    assert run("verify").code == 0


def test_a_file_that_grew_adds_what_is_new(run: Run, talk: Talk, tmp_path: Path) -> None:
    run("import", write(tmp_path / "log.jsonl", talk(4)))
    assert run("import", write(tmp_path / "log.jsonl", talk(7)), "--json").document["added"] == 12
    assert stored("log") == talk(7)


def test_a_file_that_shrank_adds_nothing(run: Run, talk: Talk, tmp_path: Path) -> None:
    run("import", write(tmp_path / "log.jsonl", talk(7)))
    assert run("import", write(tmp_path / "log.jsonl", talk(4)), "--json").document["added"] == 0
    rotated = talk(7)[:1] + talk(7)[9:] + user("new")
    assert run("import", write(tmp_path / "log.jsonl", rotated), "--json").document["added"] == 1
    assert stored("log") == talk(7) + user("new")


def test_equal_messages_one_after_the_other_are_all_stored(run: Run, tmp_path: Path) -> None:
    run("import", write(tmp_path / "log.jsonl", user("go on", "go on")))
    assert run("import", write(tmp_path / "log.jsonl", user("go on", "go on", "go on")), "--json").document["added"] == 1
    assert stored("log") == user("go on", "go on", "go on")


def test_another_conversation_of_the_same_name_is_not_mixed_in(run: Run, talk: Talk, tmp_path: Path) -> None:
    other = [*talk(1)[:1], *user("Something else.", "Entirely.")]
    run("import", write(tmp_path / "log.jsonl", talk(2)))
    for _ in range(2):
        run("import", write(tmp_path / "log.jsonl", other))
    assert threads() == ["log", "log-2"]
    assert (stored("log"), stored("log-2")) == (talk(2), other)


def test_the_same_file_given_twice_is_read_once(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", talk(2))
    document = run("import", path, "log.jsonl", "--json").document
    assert [thread["id"] for thread in document["threads"]] == ["log"]


@pytest.mark.parametrize("lines", ["messages", "conversations"])
def test_two_imports_of_a_file_at_once_store_it_once(
    run: Run, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str
) -> None:
    path = write(tmp_path / "log.jsonl", talk(3) if lines == "messages" else [talk(1), talk(2), user("x", "x")])
    Engine("sqlite:///lossless.db").close()
    look = importing.thread_info
    others: list[threading.Thread] = []

    def somebody_else_comes(engine: Engine, thread_id: str) -> Any:
        found = look(engine, thread_id)
        if not others:  # after the first import has seen that nothing is stored, and before it stores anything
            others.append(threading.Thread(target=lambda: codes.append(main(["import", str(path)]))))
            others[0].start()
            others[0].join(0.3)
        return found

    codes: list[int] = []
    monkeypatch.setattr(importing, "thread_info", somebody_else_comes)
    assert run("import", path).code == 0
    others[0].join(60)
    assert codes == [0]
    if lines == "messages":
        assert (threads(), stored("log")) == (["log"], talk(3))
    else:
        assert threads() == ["log", "log-2", "log-3"]
        assert [stored(id) for id in threads()] == [talk(1), talk(2), user("x", "x")]
    assert run("verify").code == 0


def test_an_import_that_has_no_end_is_not_waited_for(
    run: Run, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "log.jsonl", talk(1))
    monkeypatch.setattr(importing, "_PATIENCE", 0.0)
    with Engine("sqlite:///lossless.db") as engine, Turns(engine.database, 60, "import").taken(engine.key_of("log"), 0):
        done = run("import", path)
    assert (done.code, threads()) == (1, [])
    assert done.err.startswith("lossless: another import goes on in the thread 'log' (import again when it is done")
    assert run("import", path).code == 0
    assert stored("log") == talk(1)


def test_messages_that_were_deleted_or_compacted_are_not_added_again(run: Run, talk: Talk, tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", talk(12))
    run("import", path)
    run("delete", "log", "m_2")
    run("compact", "log", "--window", 2_000)
    assert run("import", path, "--json").document["added"] == 0


def test_messages_with_ids_are_known_by_them(run: Run, tmp_path: Path) -> None:
    said = [{**message, "id": f"x{place}"} for place, message in enumerate(user("a", "b", "c"))]
    run("import", write(tmp_path / "log.jsonl", said))
    said[1]["content"] = "b, corrected"
    said.append({"role": "user", "content": "d", "id": "x3"})
    for added in (2, 0):
        assert run("import", write(tmp_path / "log.jsonl", said), "--json").document["added"] == added
    with Engine(create=False) as engine:
        assert [message.text for message in engine.thread("log").messages()] == ["a", "b, corrected", "c", "d"]


def test_a_conversation_longer_than_a_part_is_compared_and_continued_as_a_whole(run: Run, tmp_path: Path) -> None:
    texts = [f"message {place}" for place in range(2_300)]
    for count, added in ((2_100, 2_100), (2_100, 0), (2_300, 200)):
        assert run("import", write(tmp_path / "long.jsonl", user(*texts[:count])), "--json").document["added"] == added
    assert stored("long") == user(*texts)


def test_bad_lines_are_named_and_the_rest_is_imported_each_time(run: Run, tmp_path: Path) -> None:
    lines = ['{"role":"user","content":"a"}', "no json", "", '{"role":"wizard","content":"b"}', '{"role":"user","content":"c"}']
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    for added in (2, 0):
        done = run("import", path)
        assert done.code == 1
        assert [line.split(": ")[1] for line in done.err.splitlines()] == [f"{path}:2", f"{path}:4"]
        assert f"{added} messages added" in done.out
        assert done.out.endswith("2 skipped\n")
    document = run("import", path, "--json").document
    assert [(problem["file"], problem["line"]) for problem in document["problems"]] == [(str(path), 2), (str(path), 4)]
    assert stored("log") == user("a", "c")


def test_a_message_that_can_t_be_stored_is_named_and_the_rest_is_imported_each_time(run: Run, tmp_path: Path) -> None:
    said = user(*"abcdef")
    said[0]["id"], said[2]["id"], said[5]["id"] = 5, "", "x\0"
    for path in (write(tmp_path / "lines.jsonl", said), write(tmp_path / "whole.jsonl", [{"messages": said}])):
        for added in (3, 0):
            done = run("import", path, "--json")
            assert done.code == 1
            assert done.document["added"] == added
            assert [problem["reason"].split(":")[0] for problem in done.document["problems"]] == [
                "message 1",
                "message 3",
                "message 6",
            ]
    assert stored("lines") == stored("whole") == [said[1], said[3], said[4]]
    assert {problem["line"] for problem in done.document["problems"]} == {1}


def test_orphan_results_and_other_oddities_are_imported_as_they_are(run: Run, tmp_path: Path) -> None:
    odd = [
        {"role": "tool", "tool_call_id": "gone", "content": "late"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "\ud800 \0 é", "big": 2**200, "float": 1.0, "zero": -0.0},
    ]
    run("import", write(tmp_path / "odd.jsonl", odd))
    assert [json.dumps(payload) for payload in stored("odd")] == [json.dumps(payload) for payload in odd]


def test_anthropic_transcripts_are_recognised(run: Run, tmp_path: Path) -> None:
    request = {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "What is in the box?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "open", "input": {"box": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a cat"}]},
        ],
    }
    path = tmp_path / "box.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    for added in (4, 0):
        assert run("import", path, "--json").document["added"] == added
    document = run("context", "box", "--window", 4_000, "--format", "anthropic", "--json").document
    assert document["messages"] == request["messages"]


def test_an_import_with_a_window_leaves_compacted_threads(run: Run, talk: Talk, tmp_path: Path) -> None:
    run("import", write(tmp_path / "log.jsonl", talk(40)), "--window", 4_000)
    context = run("context", "log", "--window", 4_000, "--json").document
    assert context["status"] == "ok"
    assert context["represented"] == 161
    assert context["tokens"] <= context["soft"]
    assert any(item["kind"] == "summary" for item in context["items"])


def test_a_file_that_is_not_there_is_a_problem_and_the_others_are_imported(run: Run, talk: Talk, tmp_path: Path) -> None:
    done = run("import", "absent.jsonl", tmp_path, write(tmp_path / "log.jsonl", talk(1)))
    assert done.code == 1
    assert done.err.splitlines()[0] == "lossless: there is no file absent.jsonl (check the path)"
    assert "is a directory" in done.err
    assert "5 messages added" in done.out
    assert done.out.endswith("2 skipped\n")


def test_nothing_readable_makes_no_database(run: Run, tmp_path: Path) -> None:
    assert run("import", "absent.jsonl").code == 1
    assert list(tmp_path.iterdir()) == []


def test_names_that_can_t_be_thread_ids_are_made_fit(run: Run, tmp_path: Path) -> None:
    lines = [{"id": "a\0b\n", "messages": user("x")}, {"id": "n" * 600, "messages": user("y")}, {"id": "", "messages": user("z")}]
    document = run("import", write(tmp_path / "names.jsonl", lines), "--json").document
    assert [thread["id"] for thread in document["threads"]] == ["a\\x00b\\n", "n" * 480, "names"]
    assert run("import", tmp_path / "names.jsonl", "--json").document["added"] == 0


@pytest.mark.parametrize("name", ["", "x" * 600])
def test_a_thread_id_that_can_t_be_one_is_wrong_use(run: Run, talk: Talk, tmp_path: Path, name: str) -> None:
    assert run("import", write(tmp_path / "log.jsonl", talk(1)), "--thread", name).code == 2
    assert not (tmp_path / "lossless.db").exists()


def test_real_conversations_are_imported_once(run: Run) -> None:
    given = tau_conversations()
    path = SHARED / "data" / "tau_airline.jsonl.gz"
    first = run("import", path, "--json").document
    assert first["added"] == sum(len(conversation["messages"]) for conversation in given)
    assert run("import", path, "--json").document["added"] == 0
    assert stored(first["threads"][-1]["id"]) == given[-1]["messages"]


MESSAGES = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=12)


@settings(max_examples=120)
@given(MESSAGES, MESSAGES, st.integers(0, 3))
def test_comparing_never_takes_for_known_what_is_not_stored_in_that_order(
    stored: list[bytes], given: list[bytes], lead: int
) -> None:
    known, fits = compare(stored, given, min(lead, len(given)))
    assert 0 <= known <= len(given)
    remaining = iter(stored)
    assert all(digest in remaining for digest in given[:known])
    if fits and stored:
        after = stored + given[known:]
        assert compare(after, given, min(lead, len(given)))[0] == len(given) or known == 0


@given(MESSAGES, MESSAGES)
def test_a_conversation_that_goes_on_is_recognised(stored: list[bytes], more: list[bytes]) -> None:
    known, fits = compare(stored, stored + more, 0)
    assert fits
    assert known >= len(stored)
