"""The verbatim codec: what goes in comes out equal, in every detail, and bytes construct nothing else."""

from __future__ import annotations

import json
import math
import sys
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossless.errors import CorruptError, MessageError
from lossless.messages.payload import MAX_DEPTH, canonical, canonical_equal, decode, encode, json_text

ALLOWED = (
    dict, list, str, int, float, bool, type(None), tuple, set, frozenset, bytes,
    Decimal, UUID, datetime, date, time, timedelta,
)  # fmt: skip

any_text = st.text(st.characters(exclude_categories=[]), max_size=20)  # lone surrogates and NUL among them
zones = st.sampled_from([None, UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Berlin")])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**3000), max_value=2**3000),
    st.floats(allow_nan=True),
    any_text,
    st.binary(max_size=20),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.datetimes(timezones=zones, allow_imaginary=False),
    st.dates(),
    st.times(),
    st.timedeltas(),
)
keys = st.one_of(any_text, st.integers(), st.booleans(), st.none(), st.just("$lossless"), st.tuples(st.integers(), any_text))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(any_text, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(st.one_of(st.integers(), any_text), max_size=4),
        st.frozensets(st.tuples(st.integers()), max_size=3),
    ),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal in type, key order, sign of zero and NaN, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(p, q) for p, q in zip(a.items(), b.items(), strict=True))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Decimal):
        return a.as_tuple() == b.as_tuple()
    if isinstance(a, (datetime, time)):
        return bool(a == b) and a.isoformat() == b.isoformat() and a.fold == b.fold
    return bool(a == b)


def types_in(value: Any) -> set[type]:
    found = {type(value)}
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    if isinstance(value, (dict, list, tuple, set, frozenset)):
        for each in inner:
            found |= types_in(each)
    return found


@settings(max_examples=200)
@given(values)
def test_what_goes_in_comes_out_equal(value: Any) -> None:
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": 2},
        {"b": 1, "a": {"d": 1, "c": 2}},
        [1, 1.0, True],
        [0.0, -0.0],
        2**200,
        -(2**200),
        10**5000,
        -(10**601),
        "\ud800 alone",
        "\ud83d\ude00",  # a pair given as two code points is not the character that it would spell
        "\U0001f600",
        "a\x00b\x7f\u2028",
        [math.nan, math.inf, -math.inf],
        (1, (2, [3, (4,)])),
        {1: "a", "1": "b", (2, "x"): "c", None: "d", 2.5: "e", frozenset({1}): "f"},
        b"\x00\xff",
        Decimal("1.10"),
        Decimal("-0E-7"),
        UUID(int=5),
        date(2024, 2, 29),
        time(23, 59, 59, 999999, tzinfo=UTC),
        timedelta(days=-1, microseconds=1),
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(1, 1, 1),
        {"$lossless": "tuple", "v": [1]},
        {"x": {"$lossless": "set", "v": [[1]]}},
        "$lossless",
        {},
        [],
        (),
        set(),
    ],
    ids=lambda value: (
        f"{type(value).__name__} {str(value)[:30]!a}" if not isinstance(value, int) else f"{value.bit_length()} bits"
    ),
)
def test_no_detail_of_a_value_is_lost(value: Any) -> None:
    assert same(decode(encode(value)), value)


def test_nan_in_a_decimal_is_kept() -> None:
    assert str(decode(encode(Decimal("NaN")))) == "NaN"


def test_a_daylight_saving_zone_is_still_itself() -> None:
    given_time = datetime(2024, 6, 1, 12, tzinfo=ZoneInfo("America/New_York"))
    found = decode(encode(given_time))
    assert found.tzinfo == given_time.tzinfo
    assert (found + timedelta(days=200)).utcoffset() == timedelta(hours=-5)


def test_bytes_of_a_set_do_not_depend_on_its_order() -> None:
    one, other = {0, 8}, {8, 0}
    assert list(one) != list(other)
    assert encode({"s": one}) == encode({"s": other})


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Stamp(datetime):
    pass


class Nanoseconds(timedelta):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nanoseconds)

    __hash__ = timedelta.__hash__


Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("given_value", "plain"),
    [
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (OrderedDict([("b", 1), ("a", 2)]), {"b": 1, "a": 2}),
        (Pair(1, 2), (1, 2)),
        (bytearray(b"x"), b"x"),
        (Stamp(2024, 1, 1), datetime(2024, 1, 1)),
        ({Colour.RED: 1}, {"red": 1}),
    ],
)
def test_a_subclass_is_kept_as_the_plain_value_that_equals_it(given_value: Any, plain: Any) -> None:
    found = decode(encode({"v": given_value}))["v"]
    assert same(found, plain)
    assert found == given_value


@pytest.mark.parametrize("value", [object(), 1j, range(3), Nanoseconds(1), print], ids=lambda value: type(value).__name__)
def test_what_cant_be_kept_is_refused_and_its_place_named(value: Any) -> None:
    with pytest.raises(MessageError, match=r"payload\.content\[1\] has the type") as caught:
        encode({"role": "user", "content": ["x", value]})
    assert caught.value.hint


def test_nesting_is_kept_up_to_a_depth_and_refused_beyond() -> None:
    def nested(depth: int) -> Any:
        value: Any = "core"
        for level in range(depth):
            value = {"k": value} if level % 2 else [value]
        return value

    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 5000):
        with pytest.raises(MessageError, match="levels deep"):
            encode(nested(depth))
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(MessageError, match="contains itself"):
        encode(endless)


def test_what_was_kept_is_read_from_deep_within_a_recursion_too() -> None:
    data = encode([[[[[[[[[["core"]]]]]]]]]] * 2)
    deep: Any = "x"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    deep_data = encode(deep)

    def descend(levels: int) -> tuple[Any, Any]:
        return descend(levels - 1) if levels else (decode(data), decode(deep_data))

    frames = 0
    frame = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back  # type: ignore[assignment]
    shallow, found = descend(sys.getrecursionlimit() - frames - 150)
    assert found == deep
    assert shallow == decode(data)


@given(st.binary(max_size=60) | values.map(encode))
def test_bytes_are_read_into_allowed_types_or_refused(data: bytes) -> None:
    try:
        found = decode(data)
    except CorruptError:
        return
    assert types_in(found) <= set(ALLOWED)


tags = st.sampled_from(
    ["int", "dict", "tuple", "set", "frozenset", "bytes", "decimal", "uuid", "datetime", "date", "time", "timedelta", "os.system"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.fixed_dictionaries({"$lossless": tags | inner, "v": inner}),
    max_leaves=8,
)


@settings(max_examples=200)
@given(json_values)
def test_forged_tags_construct_allowed_types_or_are_refused(forged: Any) -> None:
    try:
        found = decode(json.dumps(forged).encode())
    except CorruptError:
        return
    assert types_in(found) <= set(ALLOWED)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b'{"$lossless":"int"}', b'{"$lossless":"os","v":1}', b'{"$lossless":"uuid","v":5}', b"[" * 100_000],
)
def test_broken_bytes_are_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptError):
        decode(data)


@given(values)
def test_the_order_of_keys_does_not_matter_to_canonical_equality(value: Any) -> None:
    assert canonical_equal(value, turned(value))
    assert canonical(decode(encode(value))) == canonical(value)


def turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    if isinstance(value, list):
        return [turned(inner) for inner in value]
    return value


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"n": 1}, {"n": 1.0}),
        ({"n": 1}, {"n": True}),
        ({"n": 0.0}, {"n": -0.0}),
        ({"n": [1, 2]}, {"n": [2, 1]}),
        ({"n": (1,)}, {"n": [1]}),
        ({"n": None}, {}),
        ({1: "a"}, {"1": "a"}),
        ({"n": "\ud83d\ude00"}, {"n": "\U0001f600"}),
    ],
)
def test_canonical_equality_tells_values_apart_that_python_may_not(a: Any, b: Any) -> None:
    assert not canonical_equal(a, b)


def test_nan_equals_itself_canonically() -> None:
    assert canonical_equal({"n": math.nan}, {"n": float("nan")})


@given(values)
def test_any_value_can_be_written_as_text(value: Any) -> None:
    assert isinstance(json_text(value), str)
    assert isinstance(json_text({"v": [value]}), str)


def test_text_of_a_value_never_raises() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    endless: dict[str, Any] = {}
    endless["self"] = endless
    for value in (Rude(), {"r": Rude()}, endless, {(1, 2): 3}, 10**5000, {"deep": [10**5000]}, {(1,): Rude()}):
        assert json_text(value)
    assert json_text({"é": "\ud800"}) == '{"é": "\ud800"}'
