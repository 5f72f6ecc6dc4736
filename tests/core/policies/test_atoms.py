"""Atoms: found by shape, compared by value, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lossless.policies.atoms import alike, find_atoms, normalise


def shapes(text: str) -> list[tuple[str, str]]:
    return [(atom.kind, atom.text) for atom in find_atoms(text)]


@pytest.mark.parametrize(
    ("text", "kind", "atom"),
    [
        ("it costs $1,200.50 now", "money", "$1,200.50"),
        ("45 EUR are due", "money", "45 EUR"),
        ("USD 30 a month", "money", "USD 30"),
        ("1 200 € de budget", "money", "1 200 €"),
        ("3000円です", "money", "3000円"),
        ("a discount of 12 %", "percent", "12 %"),
        ("weighs 3.5 kg", "quantity", "3.5 kg"),
        ("waits 250ms", "quantity", "250ms"),
        ("3,5 kg flour", "quantity", "3,5 kg"),
        ("at 10:30 am sharp", "time", "10:30 am"),
        ("at 3 pm", "time", "3 pm"),
        ("arrives 03:00:00+1", "time", "03:00:00+1"),
        ("on May 20th, 2024.", "date", "May 20th, 2024"),
        ("on 20 May", "date", "20 May"),
        ("on 2024-05-20T10:00:00Z", "date", "2024-05-20T10:00:00Z"),
        ("on 12/05/2024", "date", "12/05/2024"),
        ("by Friday", "date", "Friday"),
        ("commit a1b2c3d4e5", "hash", "a1b2c3d4e5"),
        ("id 550e8400-e29b-41d4-a716-446655440000", "hash", "550e8400-e29b-41d4-a716-446655440000"),
        ("ticket ABC-123 is open", "id", "ABC-123"),
        ("see #42", "id", "#42"),
        ("reservation ZFAN04", "id", "ZFAN04"),
        ("I am mia_li_3668.", "id", "mia_li_3668"),
        ("host 10.0.0.1:8080", "id", "10.0.0.1:8080"),
        ("mail me@example.org!", "email", "me@example.org"),
        ("with timeout=30 set", "kv", "timeout=30"),
        ("in /etc/app/config.yaml.", "path", "/etc/app/config.yaml"),
        ("edit src/auth.ts", "path", "src/auth.ts"),
        (r"open C:\Users\x\f.txt", "path", r"C:\Users\x\f.txt"),
        ("run ~/bin", "path", "~/bin"),
        ("the config.yaml", "path", "config.yaml"),
        ("see https://a.example/c?x=1.", "url", "https://a.example/c?x=1"),
        ("version v1.2.3", "version", "v1.2.3"),
        ("python 3.11.2", "version", "3.11.2"),
        ("port 8080", "number", "8080"),
        ("about 1.5 million users", "number", "1.5 million"),
    ],
)
def test_an_atom_is_found_whole_and_by_kind(text: str, kind: str, atom: str) -> None:
    assert (kind, atom) in shapes(text)


@pytest.mark.parametrize("text", ["and/or", "e.g. i.e. a.m.", "well-known", "Hello, World!", "we/they", "", " \n\t ", "x = y"])
def test_words_are_no_atoms(text: str) -> None:
    assert shapes(text) == []


def test_a_list_of_numbers_is_as_many_atoms() -> None:
    assert [text for _, text in shapes("1,2,3 and 10-20")] == ["1", "2", "3", "10", "20"]


def test_a_long_run_without_a_break_is_no_atom_and_hides_none_beside_it() -> None:
    assert shapes("A1" * 400 + " port 8080") == [("number", "8080")]


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("money", "$1,200.00", "1200 dollars"),
        ("money", "$5k", "USD 5000"),
        ("money", "1 200 €", "1.200,00 EUR"),
        ("quantity", "30 seconds", "30 s"),
        ("percent", "12%", "12 percent"),
        ("time", "06:00 AM", "06:00:00"),
        ("time", "3 pm", "15:00"),
        ("date", "May 20th, 2024", "2024-05-20"),
        ("id", "#42", "42"),
        ("id", "ZFAN04", "zfan04"),
        ("number", "1,000", "1000"),
    ],
)
def test_a_value_does_not_depend_on_how_it_is_written(kind: str, one: str, other: str) -> None:
    assert normalise(kind, one) == normalise(kind, other)


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        (("money", "$45"), ("number", "45"), True),
        (("number", "45"), ("money", "$45"), True),
        (("money", "$45"), ("money", "€45"), False),
        (("quantity", "5 kg"), ("quantity", "5 lb"), False),
        (("quantity", "30 s"), ("number", "30"), False),
        (("number", "12"), ("percent", "12%"), False),
        (("date", "2024-05-20"), ("date", "May 20"), True),
        (("date", "2024-05-20"), ("date", "May 20, 2023"), False),
    ],
)
def test_units_may_be_left_out_but_not_contradicted(wanted: tuple[str, str], found: tuple[str, str], same: bool) -> None:
    assert alike(normalise(*wanted), normalise(*found)) is same


ALPHABET = st.text(alphabet=st.sampled_from(list("aZ09 .,:;/\\-_=#@$€%()[]{}\"'\n\té円")), max_size=200)


@given(st.one_of(st.text(max_size=200), ALPHABET))
@example("\ud800 7 \x00")
@example("٣٤ ½ ²")
@example("1" * 100 + ".5")
def test_atoms_stand_in_order_without_overlap_and_are_what_stands_there(text: str) -> None:
    reached = 0
    for atom in find_atoms(text):
        assert reached <= atom.start < atom.end
        assert text[atom.start : atom.end] == atom.text
        normalise(atom.kind, atom.text)
        reached = atom.end


@pytest.mark.parametrize(
    "unit", ["a-", "1,", "a/", "a.b@", "1:", "a=", "$", "x@", "[1,", "é1", "may ", "#", "a:\\", " 1", "1-1 ", ("a/" * 140) + " "]
)
def test_no_text_makes_the_scan_slow(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    find_atoms(text)
    assert time.process_time() - started < 15
