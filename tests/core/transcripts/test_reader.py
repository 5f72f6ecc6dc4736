"""Reading transcripts: every shape of file, past what can't be read, within bounded memory."""

from __future__ import annotations

import gzip
import json
import math
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lossless.errors import ConfigError, NotFoundError
from lossless.transcripts.model import BadLine, Conversation
from lossless.transcripts.reader import read_transcript
from lossless_testdata import SHARED, tau_conversations

ASK = {"role": "user", "content": "Where is the order?"}
ANSWER = {"role": "assistant", "content": "On its way."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "track", "arguments": '{"order": 7}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"at": "Kassel"}'}
TURNS = [ASK, CALL, RESULT, ANSWER]
ANTHROPIC = [
    ASK,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "track", "input": {"order": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Kassel"}]},
]


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(content: str | bytes, name: str = "session.jsonl") -> Path:
        path = tmp_path / name
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def on_lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def read(path: Path, **options: Any) -> tuple[dict[tuple[int | None, str | None], list[Any]], list[BadLine]]:
    """Give the messages of each conversation by (entry, name), and the bad lines."""
    found: dict[tuple[int | None, str | None], list[Any]] = {}
    bad = []
    for one in read_transcript(path, **options):
        if isinstance(one, BadLine):
            bad.append(one)
        else:
            found.setdefault((one.entry, one.name), []).extend(one.messages)
    return found, bad


ALONE = (None, None)


# Shapes of files


@pytest.mark.parametrize(
    "name", ["session.jsonl", "session.ndjson", "session.txt", "session", "session.json", "session.jsonl.gz"]
)
def test_messages_on_lines_are_one_conversation(file: Any, name: str) -> None:
    assert read(file(on_lines(*TURNS), name)) == ({ALONE: TURNS}, [])


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("name", ["session.json", "session.txt", "session.json.gz"])
def test_a_list_of_messages_is_one_conversation(file: Any, name: str, indent: int | None) -> None:
    assert read(file(json.dumps(TURNS, indent=indent), name)) == ({ALONE: TURNS}, [])


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("name", ["session.json", "session.txt", "session.json.gz"])
def test_a_dict_with_messages_is_one_conversation(file: Any, name: str, indent: int | None) -> None:
    document = {"model": "m-1", "temperature": 0.5, "messages": TURNS, "id": "case-7", "ok": True}
    assert read(file(json.dumps(document, indent=indent), name)) == ({(None, "case-7"): TURNS}, [])


def test_a_conversation_on_each_line_is_one_of_its_own(file: Any) -> None:
    path = file(on_lines({"id": "a", "messages": TURNS}, TURNS[:1], {"reward": 1.0, "messages": TURNS[2:]}, {"messages": []}))
    assert read(path) == ({(1, "a"): TURNS, (2, None): TURNS[:1], (3, None): TURNS[2:]}, [])


def test_a_file_of_one_line_is_read_by_its_name(file: Any) -> None:
    assert read(file(on_lines({"id": "a", "messages": TURNS}), "a.jsonl")) == ({(1, "a"): TURNS}, [])
    assert read(file(on_lines({"id": "a", "messages": TURNS}), "a.json")) == ({(None, "a"): TURNS}, [])
    assert read(file(on_lines(ASK), "b.jsonl")) == ({ALONE: [ASK]}, [])
    assert read(file(json.dumps(ASK, indent=1), "b.json")) == ({ALONE: [ASK]}, [])


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_conversations_is_one_of_each(file: Any, indent: int | None) -> None:
    document = [{"id": 7, "messages": TURNS}, TURNS[:1], {"messages": TURNS[:2]}]
    expected = {(1, "7"): TURNS, (2, None): TURNS[:1], (3, None): TURNS[:2]}
    assert read(file(json.dumps(document, indent=indent), "all.json")) == (expected, [])


def test_keys_order_and_numbers_stay_as_they_are(file: Any) -> None:
    said = '{"role": "user", "z": 1, "a": 1.0, "content": "x", "n": NaN, "b": %s, "c": %s, "e": -0.0}'
    big, huge = "9" * 40, "-" + "12" * 5_000
    for text, name in ((said % (big, huge) + "\n", "s.jsonl"), ("[\n" + said % (big, huge) + "\n]", "s.json")):
        (message,) = read(file(text, name))[0][ALONE]
        assert list(message) == ["role", "z", "a", "content", "n", "b", "c", "e"]
        assert (type(message["z"]), type(message["a"]), message["b"]) == (int, float, int(big))
        assert math.isnan(message["n"])
        assert math.copysign(1, message["e"]) == -1
        assert message["c"] == -(12 * (100**5_000 - 1) // 99)


def test_odd_characters_and_line_ends_stay_inside_strings(file: Any) -> None:
    said = {"role": "user", "content": "a\u2028b\u2029c\x85d\ud800e\0f\r\ng\u000b"}
    raw = json.dumps(said, ensure_ascii=False).replace("\ud800", "\\ud800")
    for text, name in ((raw + "\r\n" + raw, "s.jsonl"), ("[" + raw + ",\r\n" + raw + "]", "s.json")):
        assert read(file(text, name)) == ({ALONE: [said, said]}, [])


def test_byte_order_marks_blank_lines_and_utf_16_are_understood(file: Any) -> None:
    text = "\n  \r\n" + on_lines(ASK) + "\r\n\n\ufeff" + json.dumps(ANSWER) + "   "
    assert read(file("\ufeff" + text)) == ({ALONE: [ASK, ANSWER]}, [])
    for encoding in ("utf-16-le", "utf-16-be"):
        data = ("\ufeff" + text).encode(encoding)
        assert read(file(data)) == ({ALONE: [ASK, ANSWER]}, [])
        assert read(file(data, "s.jsonl.gz")) == ({ALONE: [ASK, ANSWER]}, [])


def test_of_a_key_that_comes_twice_the_last_counts(file: Any) -> None:
    line = '{"role": "user", "content": "a", "content": "b"}'
    assert read(file(line))[0] == {ALONE: [{"role": "user", "content": "b"}]}
    document = f'{{"messages": [{line}], "id": "x", "messages": [{line}, {line}]}}'
    for name, entry in (("d.json", None), ("d.jsonl", 1)):
        assert read(file(document, name)) == ({(entry, "x"): [{"role": "user", "content": "b"}] * 2}, [])


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "[]", '{"messages": []}'])
def test_a_file_without_messages_yields_nothing(file: Any, text: str) -> None:
    for name in ("e.jsonl", "e.json", "e.json.gz"):
        assert list(read_transcript(file(text, name))) == []


def test_real_conversations_are_read_one_a_line() -> None:
    given = tau_conversations()
    found, bad = read(SHARED / "data" / "tau_airline.jsonl.gz")
    assert bad == []
    assert list(found.values()) == [conversation["messages"] for conversation in given]
    assert list(found) == [(line, conversation["id"]) for line, conversation in enumerate(given, start=1)]


# Formats


@pytest.mark.parametrize("system", ["Be kind.", [{"type": "text", "text": "Be kind."}]])
def test_the_system_prompt_beside_the_messages_comes_first(file: Any, system: Any) -> None:
    leading = {"role": "system", "content": system}
    for request in ({"system": system, "messages": ANTHROPIC}, {"messages": ANTHROPIC, "system": system}):
        assert read(file(json.dumps(request), "r.json")) == ({ALONE: [leading, *ANTHROPIC]}, [])
        assert read(file(on_lines(request, request))) == ({(n, None): [leading, *ANTHROPIC] for n in (1, 2)}, [])


def test_a_system_prompt_that_is_none_is_reported(file: Any) -> None:
    found, bad = read(file(on_lines({"system": 5, "messages": [ASK]}, {"system": None, "messages": [ASK]})))
    assert found == {(1, None): [ASK], (2, None): [ASK]}
    assert [line.number for line in bad] == [1]
    assert "system" in bad[0].reason


def test_both_formats_may_stand_in_one_file(file: Any) -> None:
    assert read(file(on_lines(*TURNS, *ANTHROPIC))) == ({ALONE: [*TURNS, *ANTHROPIC]}, [])
    assert read(file(on_lines(*TURNS)), format="openai") == ({ALONE: TURNS}, [])
    assert read(file(on_lines(*ANTHROPIC)), format="anthropic") == ({ALONE: ANTHROPIC}, [])


def test_a_format_that_is_named_is_the_only_one_accepted(file: Any) -> None:
    found, bad = read(file(on_lines(ASK, RESULT)), format="anthropic")
    assert found == {ALONE: [ASK]}
    assert [line.number for line in bad] == [2]


# What can't be read


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"role": "user", "content": "cut', "not JSON"),
        (b"hello", "not JSON"),
        (b'{"role": "user", "content": "a"} {"role": "user"}', "something follows"),
        (b'{"content": "nobody"}', "role"),
        (b'{"role": "narrator", "content": "x"}', "narrator"),
        (b'{"role": 5, "content": "x"}', "role"),
        (b'{"role": "user"}', "content"),
        (b'{"role": "user", "content": 5}', "int"),
        (b'{"role": "user", "content": [5]}', "int"),
        (b'{"role": "assistant", "tool_calls": 5}', "tool_calls"),
        (b'{"messages": "none"}', "role"),
        (b'"text"', "mapping"),
        (b"17", "mapping"),
        (b"null", "mapping"),
        (b'{"role": "user", "content": "\xff"}', "UTF-8"),
        (b'{"role": "user", "content": "' + b"\xed\xa0\x80" + b'"}', "UTF-8"),
        (b'{"role": "user", "content": "x", "extra": ' + b"[" * 400 + b"]" * 400 + b"}", "deep"),
        (b'{"role": "user", "content": ' + b"[" * 100_000, "deep"),
        (b'{"role": "user", "content": "x", "n": ' + b"1" * 200_000 + b"}", "digits"),
        (b"\0\0\0\0", "not JSON"),
    ],
)
def test_a_bad_line_is_reported_and_the_rest_is_read(file: Any, line: bytes, reason: str) -> None:
    good = on_lines(ASK, ANSWER).encode()
    for data, number in ((good + line + b"\n" + good, 3), (b"\n" + line + b"\r\n" + good + good, 2), (good + good + line, 5)):
        found, bad = read(file(data))
        assert found == {ALONE: [ASK, ANSWER] * 2}
        assert [one.number for one in bad] == [number]
        assert reason in bad[0].reason


def test_a_bad_message_of_a_conversation_is_reported_with_its_place(file: Any) -> None:
    found, bad = read(file(on_lines({"id": "a", "messages": [ASK, {"no": "role"}, ANSWER]}, [ASK, 5])))
    assert found == {(1, "a"): [ASK, ANSWER], (2, None): [ASK]}
    assert [(one.number, one.reason[:9]) for one in bad] == [(1, "message 2"), (2, "message 2")]


def test_a_bad_message_of_a_document_is_reported_with_its_line(file: Any) -> None:
    text = json.dumps([ASK, {"no": "role"}, ANSWER], indent=0)
    found, bad = read(file(text, "d.json"))
    assert found == {ALONE: [ASK, ANSWER]}
    assert [one.number for one in bad] == [6]


def closings(text: str) -> Iterator[tuple[int, int]]:
    """Give where a brace outside a string closes, and how deep it is then."""
    depth, quoted, escaped = 0, False, False
    for place, letter in enumerate(text):
        if not quoted:
            depth += (letter in "[{") - (letter in "]}")
            if letter == "}":
                yield place, depth
        quoted ^= letter == '"' and not escaped
        escaped = letter == "\\" and not escaped


@pytest.mark.parametrize("wrap", ["%s", '{"id": "x", "messages": %s}'])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_is_read_up_to_where_it_breaks(file: Any, wrap: str, indent: int | None) -> None:
    whole = wrap % json.dumps(TURNS, indent=indent)
    ends = [place + 1 for place, depth in closings(whole) if depth == 1 + wrap.count("{")]
    for length in range(len(whole)):
        path = file(whole[:length], "d.json")
        found, bad = read(path)
        messages = [message for some in found.values() for message in some]
        assert messages == TURNS[: len(messages)]
        assert len(messages) == sum(length >= end for end in ends)
        assert bool(bad) == (length > 0)


def test_documents_may_follow_each_other(file: Any) -> None:
    for between in ("\n", " ", ""):
        assert read(file(between.join(json.dumps(turn, indent=1) for turn in TURNS), "d.json")) == ({ALONE: TURNS}, [])
        conversations = [{"messages": TURNS, "id": "a"}, TURNS[:1], {"messages": TURNS[:2], "id": "c"}]
        expected = {(None, "a"): TURNS, (2, None): TURNS[:1], (3, "c"): TURNS[:2]}
        assert read(file(between.join(json.dumps(one, indent=1) for one in conversations), "d.json")) == (expected, [])


def test_what_follows_a_document_and_is_none_is_reported(file: Any) -> None:
    found, bad = read(file(json.dumps(TURNS, indent=1) + "\n]", "d.json"))
    assert found == {ALONE: TURNS}
    assert "not JSON" in bad[0].reason


def test_a_value_of_a_document_that_can_be_passed_is_skipped(file: Any) -> None:
    deep = json.dumps({"role": "user", "content": "x", "extra": 5}).replace("5", "[" * 400 + "]" * 400)
    document = f"[{json.dumps(ASK)}, {deep}, {json.dumps(ANSWER)}]".encode()
    latin = document.replace(deep.encode(), b'{"role": "user", "content": "\xe9"}')
    for text in (document, b'{"messages": ' + document + b"}", latin, b'{"messages": ' + latin + b"}"):
        found, bad = read(file(text, "d.json"))
        assert (found, len(bad)) == ({ALONE: [ASK, ANSWER]}, 1)


def test_a_first_line_that_is_cut_off_does_not_make_a_document(file: Any) -> None:
    for line in ('{"role": "user", "content": "cut', '{"role": "user",', "{}", "garbage", "[]]"):
        found, bad = read(file(line + "\n" + on_lines(ASK, ANSWER), "s.txt"))
        assert found == {ALONE: [ASK, ANSWER]}
        assert [one.number for one in bad] == [1]


def test_broken_compression_is_reported_after_what_came_before(file: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    packer = zlib.compressobj(wbits=31)
    begun = packer.compress(on_lines(*TURNS).encode()) + packer.flush(zlib.Z_FULL_FLUSH)
    damaged = begun + b"\x07"  # a block of a kind that there is not
    packer.compress(b'{"role": "user", "content": "cut')
    for data in (begun, damaged, begun + packer.flush(zlib.Z_FULL_FLUSH), gzip.compress(on_lines(*TURNS).encode())[:-8]):
        path.write_bytes(data)
        found, (bad,) = read(path)
        assert found == {ALONE: TURNS}
        assert "can't be read further" in bad.reason
    path.write_bytes(gzip.compress(json.dumps(TURNS * 50).encode())[:-9])
    assert "can't be read further" in read(path)[1][-1].reason


def test_packed_members_may_follow_each_other_and_what_follows_and_is_none_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl.gz"
    members = gzip.compress(on_lines(*TURNS[:2]).encode()) + gzip.compress(on_lines(*TURNS[2:]).encode())
    path.write_bytes(members + b"\0" * 512)
    assert read(path) == ({ALONE: TURNS}, [])
    path.write_bytes(members + b"garbage")
    found, (bad,) = read(path)
    assert found == {ALONE: TURNS}
    assert "can't be read further" in bad.reason


@pytest.mark.parametrize(
    ("path", "said"),
    [("absent", "no file"), (".", "directory"), ("a\0b", "can't be"), ("x" * 5_000, "can't be"), ("/dev/null", "regular")],
)
def test_a_path_that_is_no_file_is_refused_at_once(tmp_path: Path, path: str, said: str) -> None:
    with pytest.raises(NotFoundError, match=said) as caught:
        read_transcript(tmp_path / path)
    assert caught.value.hint


def test_an_unknown_format_is_refused_at_once(file: Any) -> None:
    with pytest.raises(ConfigError, match="'chatml'") as caught:
        read_transcript(file(""), format="chatml")
    assert "openai" in caught.value.hint


# Size


def test_a_long_conversation_comes_in_parts(file: Any) -> None:
    turns = [{"role": "user", "content": f"{number}"} for number in range(2_500)]
    for text, name, entry in (
        (on_lines(*turns), "s.jsonl", None),
        (json.dumps(turns), "s.json", None),
        (json.dumps({"messages": turns}), "s.json", None),
        (on_lines({"messages": turns}), "s.jsonl", 1),
    ):
        parts = [one for one in read_transcript(file(text, name)) if isinstance(one, Conversation)]
        assert [(part.part, part.entry, len(part.messages)) for part in parts] == [
            (1, entry, 1000),
            (2, entry, 1000),
            (3, entry, 500),
        ]
        assert [message for part in parts for message in part.messages] == turns
    assert [part.first_line for part in read_transcript(file(on_lines(*turns))) if isinstance(part, Conversation)] == [
        1,
        1001,
        2001,
    ]


def test_bad_lines_and_other_conversations_do_not_break_a_conversation(file: Any) -> None:
    found = list(read_transcript(file(on_lines(ASK, {"id": "b", "messages": [ANSWER]}, 5, ANSWER))))
    conversations = [one for one in found if isinstance(one, Conversation)]
    assert {(one.entry, one.name, one.part): list(one.messages) for one in conversations} == {
        (2, "b", 1): [ANSWER],
        (None, None, 1): [ASK, ANSWER],
    }


def test_progress_counts_bytes_of_the_file(file: Any) -> None:
    text = on_lines(*({"role": "user", "content": f"{number} " * 50} for number in range(20_000)))
    for content, name in ((text, "s.jsonl"), (text, "s.jsonl.gz"), ("[" + text.strip().replace("\n", ",\n") + "]", "s.json")):
        path = file(content, name)
        seen: list[int] = []
        read(path, progress=seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == path.stat().st_size
        assert len(seen) > 3


def bomb(path: Path, head: bytes, filling: bytes, times: int, tail: bytes) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(times):
            file.write(filling)
        file.write(tail)
    return path


def peak_of(found: Iterator[Any]) -> int:
    tracemalloc.start()
    try:
        for _ in found:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


MIB = 1024 * 1024
SAID = b'{"role": "user", "content": "'


def test_a_line_over_64_mib_is_skipped_without_being_held(tmp_path: Path) -> None:
    head = on_lines(ASK).encode() + SAID
    path = bomb(tmp_path / "b.jsonl.gz", head, b"x" * MIB, 300, b'"}\n' + on_lines(ANSWER).encode())
    found, bad = read(path)
    assert found == {ALONE: [ASK, ANSWER]}
    assert bad == [BadLine(2, "longer than 64 MiB")]
    assert peak_of(read_transcript(path)) < 160 * MIB


def test_a_value_over_64_mib_ends_a_document(tmp_path: Path) -> None:
    path = bomb(tmp_path / "b.json.gz", b"[\n" + json.dumps(ASK).encode() + b",\n" + SAID, b"x" * MIB, 150, b'"}]')
    found, bad = read(path)
    assert found == {ALONE: [ASK]}
    assert (bad[0].number, "64 MiB" in bad[0].reason) == (3, True)


@pytest.mark.parametrize("opening", ["", "[", '{"id": "x", "messages": ['])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, opening: str) -> None:
    line = SAID + b"x" * 2_000 + b'"}'
    filling = (line + (b",\n" if opening else b"\n")) * 100
    closing = line + {"": b"\n", "[": b"]"}.get(opening, b"]}")
    name = "b.json.gz" if opening else "b.jsonl.gz"
    path = bomb(tmp_path / name, opening.encode(), filling, 200, closing)
    count = sum(len(one.messages) for one in read_transcript(path) if isinstance(one, Conversation))
    assert count == 20_001
    assert peak_of(read_transcript(path)) < 24 * MIB


def test_blanks_without_end_are_passed_in_bounded_memory(tmp_path: Path) -> None:
    for path in (
        bomb(tmp_path / "b.jsonl.gz", b"", (b" " * 1_000 + b"\n") * 1_000, 40, b"\n"),
        bomb(tmp_path / "b.json.gz", b"[", b"\n" * MIB, 40, b"]"),
    ):
        assert peak_of(read_transcript(path)) < 16 * MIB


# Whatever is in the file

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "messages", "id", "system", "x"]), inner | st.just("user"), max_size=4
        )
    ),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(JSON, max_size=5), st.sampled_from([None, 0]), st.sampled_from(["f.json", "f.jsonl", "f"]), st.data())
def test_any_file_is_read_to_its_end(
    tmp_path: Path, values: list[Any], indent: int | None, name: str, data: st.DataObject
) -> None:
    text = "\n".join(json.dumps(value, indent=indent) for value in values).encode()
    path = tmp_path / name
    path.write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
    for one in read_transcript(path):
        assert isinstance(one, BadLine) or one.messages


MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text()}, optional={"x": JSON}),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MESSAGES, st.sampled_from([None, 0, 3]), st.booleans(), st.sampled_from(["lines", "list", "dict", "entries"]))
def test_messages_come_out_as_they_went_in(
    tmp_path: Path, messages: list[dict[str, Any]], indent: int | None, ascii: bool, shape: str
) -> None:
    path = tmp_path / ("m.jsonl" if shape in ("lines", "entries") else "m.json")
    match shape:
        case "lines":
            text = "\n".join(json.dumps(message, ensure_ascii=ascii) for message in messages)
        case "list":
            text = json.dumps(messages, ensure_ascii=ascii, indent=indent)
        case "dict":
            text = json.dumps({"messages": messages, "n": 1.25}, ensure_ascii=ascii, indent=indent)
        case _:
            text = "\n".join(json.dumps([message], ensure_ascii=ascii) for message in messages)
    path.write_text(text, encoding="utf-8", newline="")
    found, bad = read(path)
    assert bad == []
    assert repr([message for some in found.values() for message in some]) == repr(messages)


@settings(deadline=None)
@given(MESSAGES, st.integers(1, 7))
def test_chunks_may_end_anywhere(messages: list[dict[str, Any]], size: int) -> None:
    from lossless.transcripts.document import Document

    data = json.dumps({"t": 12.5e-3, "messages": messages}, ensure_ascii=False).encode()

    class Pieces:
        broken = None

        def __iter__(self) -> Iterator[bytes]:
            return (data[place : place + size] for place in range(0, len(data), size))

    document = Document(Pieces())  # type: ignore[arg-type]
    found = {}
    for key in document.object_keys():
        found[key] = [value for value, _, _ in document.elements()] if key == "messages" else document.value()[0]
    assert repr(found) == repr({"t": 12.5e-3, "messages": messages})
    assert document.peek() == ""
