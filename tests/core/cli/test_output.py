"""What is shown can't act on a terminal, and what is JSON stays what it was."""

from __future__ import annotations

import io
import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.cli.output import counted, first_words, number, visible, write_json

ANYTHING = st.text(alphabet=st.characters(exclude_categories=()) | st.sampled_from("\x1b\x9b\x07\r\n\t\u202e\ud800"))


@given(ANYTHING)
def test_nothing_in_a_line_acts_on_a_terminal(text: str) -> None:
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in visible(text))


@given(ANYTHING)
def test_a_text_keeps_its_lines_and_tabs_and_nothing_else(text: str) -> None:
    left = {char for char in visible(text, lines=True) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")}
    assert left <= {"\n", "\t"}


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs", "M"))))
def test_what_is_harmless_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_escapes_name_what_they_stand_for() -> None:
    assert visible("\x1b[31m\u202e\U000e0041\n") == "\\x1b[31m\\u202e\\U000e0041\\n"


@given(ANYTHING, st.integers(5, 50))
def test_first_words_are_one_line_within_the_length(text: str, length: int) -> None:
    found = first_words(text, length)
    assert len(found) <= length
    assert "\n" not in found


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@given(text=ANYTHING)
def test_a_json_document_gives_the_text_back_in_every_encoding(encoding: str, text: str) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", file)
        write_json({"text": text})
        file.flush()
    written = file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert json.loads(written) == {"text": text}
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in written if char != "\n")


def test_numbers_have_spaces_between_thousands() -> None:
    assert [number(value) for value in (0, 999, 1_000, 1_234_567)] == ["0", "999", "1 000", "1 234 567"]


def test_a_url_is_shown_without_its_password() -> None:
    from lossless.cli.opening import shown_url

    assert "secret" not in shown_url("postgresql+psycopg://me:secret@localhost/db")
    assert shown_url("sqlite:///agent.db") == "sqlite:///agent.db"


def test_one_of_a_kind_is_named_in_the_singular() -> None:
    assert [counted(value, "summary") for value in (0, 1, 2_000)] == ["0 summaries", "1 summary", "2 000 summaries"]
    assert [counted(value, "message") for value in (1, 2)] == ["1 message", "2 messages"]
