"""Records: any shape of JSON and table, flattened to leaves that keep whose they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.policies.records import MOST_LEAVES, read_records


def rows(text: str, subject: str = "") -> list[tuple[str, str]]:
    reading = read_records(text, subject)
    assert reading is not None
    return [(row.subject, ", ".join(f"{leaf.path}: {leaf.value}" for leaf in row.leaves)) for row in reading.rows]


def test_a_record_within_a_record_is_named_by_both() -> None:
    order = {
        "order_id": "A-1",
        "lines": [{"sku": "CH-19", "price": 45}],
        "ship": {"city": "Bonn"},
        "cards": {"card_7": {"left": 5}},
    }
    assert rows(json.dumps(order)) == [
        ("", "order_id: A-1"),
        ("A-1 lines", "sku: CH-19, price: 45"),
        ("A-1", "ship.city: Bonn"),
        ("A-1", "cards.card_7.left: 5"),
    ]


def test_a_record_without_an_id_is_named_by_what_was_asked_for() -> None:
    assert rows('{"name": {"first": "Mia"}, "zip": "78750"}', "mia_3668") == [
        ("mia_3668", "zip: 78750"),
        ("mia_3668", "name.first: Mia"),
    ]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('{"a": 1}\n{"a": 2}\n', "a: 1"),
        ("{'a': 1, 'b': None}", "a: 1"),
        ("| id | name |\n|----|------|\n| 1 | x |\n| 2 | y |", "id: 1, name: x"),
        ("id\tname\n1\tx\n2\ty\n", "id: 1, name: x"),
        ('id;name\n1;"x; y"\n2;z\n', "id: 1, name: x; y"),
    ],
)
def test_common_shapes_are_read(text: str, first: str) -> None:
    assert rows(text)[0][1] == first


@pytest.mark.parametrize(
    "text", ["hello", "", "255.0", "Dear Ann,\nthank you, really.\nYours, Bob", "[note] hello", "{", "[[[[", "a, b"]
)
def test_running_text_is_no_record(text: str) -> None:
    assert read_records(text) is None


def test_a_leaf_knows_where_it_stands() -> None:
    text = '{"a": "first", "b": {"c": "second"}, "d": "first"}'
    reading = read_records(text)
    assert reading is not None
    leaves = [leaf for row in reading.rows for leaf in row.leaves]
    assert {text[leaf.start : leaf.end] for leaf in leaves} == {"first", "second"}
    assert len({leaf.start for leaf in leaves}) == 3


def test_leaves_beyond_the_bound_are_counted_only() -> None:
    reading = read_records(json.dumps([{"id": f"A-{at}"} for at in range(MOST_LEAVES + 7)]))
    assert reading is not None
    assert (len(reading.rows), reading.left_out) == (MOST_LEAVES, 7)


def test_depth_is_bounded() -> None:
    assert read_records("[" * 100_000 + "]" * 100_000) is None
    reading = read_records('{"a":' * 300 + "1" + "}" * 300)
    assert reading is not None
    assert reading.left_out == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(max_size=8), VALUES, min_size=1, max_size=4), st.data())
def test_any_json_is_read_whole_or_cut_off_anywhere(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text)))
    for part in (text, text[:cut], text + " trailing"):
        reading = read_records(part)
        if reading is not None:
            for row in reading.rows:
                assert row.leaves
                assert all(leaf.value.strip() and "\n" not in leaf.value for leaf in row.leaves)
