"""What the engine itself writes into a context: frames that text inside can't close, lines that name what is missing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless.context.rendering import is_rendered_summary, omission_text, render_summary, stub_text
from lossless.dag.summaries import Summary
from lossless_scripts import INJECTIONS

SUMMARY = Summary(
    id="sum_0123456789abcdef",
    depth=0,
    text="The person asked for a refund of $40.",
    items=(),
    decisions=(),
    kept=3,
    total=3,
    regime="correctable",
    tokens=70,
    source_tokens=900,
    messages=12,
    first_seq=1,
    last_seq=12,
    newest_seq=12,
    earliest_at=1_700_000_000_000_000,
    latest_at=1_700_000_360_000_000,
    policy="source_first",
    level=1,
    degraded=False,
    span_key=b"",
)
HOSTILE = st.text() | st.sampled_from(INJECTIONS) | st.text(alphabet='<>&"/ =\nsumary', max_size=60)


@given(HOSTILE)
def test_text_inside_a_frame_can_neither_close_it_nor_open_another(text: str) -> None:
    rendered = render_summary(replace(SUMMARY, text=text))
    assert rendered.count("<") == rendered.count(">") == 2
    assert rendered.endswith("\n</summary>")
    assert re.findall(r"<[^>]*>", rendered)[0].startswith('<summary id="sum_0123456789abcdef" kind="leaf" depth="0"')


@given(HOSTILE)
def test_a_rendered_summary_is_recognised_and_nothing_else_is(text: str) -> None:
    assert is_rendered_summary(render_summary(replace(SUMMARY, text=text))) == SUMMARY.id
    assert is_rendered_summary(text) is None


def test_a_summary_names_its_id_kind_depth_counts_and_times() -> None:
    rendered = render_summary(replace(SUMMARY, depth=2))
    for said in ('id="sum_0123456789abcdef"', 'kind="condensed"', 'depth="2"', 'messages="12"', "2023-11-14", "untrusted"):
        assert said in rendered


def test_completeness_is_said_only_where_items_were_left_out() -> None:
    assert "3 of 3" not in render_summary(SUMMARY)
    assert "2 of 3" in render_summary(replace(SUMMARY, kept=2))


@given(st.integers(1, 10**9), st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_the_omission_line_counts_and_names_what_is_not_shown(missing: int, first: str, last: str) -> None:
    line = omission_text(missing, first, last)
    assert re.search(rf"\b{missing}\b", line)
    assert "<" not in line
    assert ">" not in line


@given(st.text(max_size=400), st.integers(0, 100))
def test_a_stub_keeps_both_ends_and_says_how_to_get_the_rest(text: str, room: int) -> None:
    stub = stub_text(text, message_id="m_42", what="result of read_file", room=room)
    assert 'lcm_expand("m_42")' in stub
    assert f"{len(text)} chars" in stub
    assert "sha256:" in stub
    assert stub.startswith(text[: room * 2 // 3])
    if room >= 3:
        assert stub.endswith(text[len(text) - room // 3 :])


@pytest.mark.parametrize("text", ["\ud800", "a\0b", ""])
def test_a_stub_of_odd_text_is_made_all_the_same(text: str) -> None:
    assert "lcm_expand" in stub_text(text, message_id="m_1", what="text", room=4)
