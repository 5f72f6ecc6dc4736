"""Failures that users of other tools reported, from append to context."""

from __future__ import annotations

from typing import Any

import pytest

from lossless import Engine
from lossless_expectations import unmet
from lossless_testdata import trim_cases

CASES = {case["id"]: case for case in trim_cases() if "messages" in case and "steps" not in case}


def test_the_cases_are_those_that_need_no_trim() -> None:
    assert {"S01", "S04", "S05", "S07", "S13", "S15", "S18", "S25"} <= set(CASES)


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["id"])
def test_a_reported_history_comes_out_as_its_reporter_expected(case: dict[str, Any], background: bool) -> None:
    with Engine("sqlite://", window=case.get("window", 200_000), background=background, load_plugins=False) as engine:
        thread = engine.thread(case["id"])
        thread.append(case["messages"], format=case["format"])
        assert unmet(case, thread, thread.context(profile=case["profile"], format=case["format"])) == []
        assert thread.wait(30)
        assert unmet(case, thread, thread.context(profile=case["profile"], format=case["format"])) == []


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["id"])
def test_appending_it_message_by_message_changes_nothing(case: dict[str, Any]) -> None:
    with Engine("sqlite://", window=case.get("window", 200_000), background=False, load_plugins=False) as engine:
        thread = engine.thread(case["id"])
        for message in case["messages"]:
            thread.append(message, format=case["format"])
        assert unmet(case, thread, thread.context(profile=case["profile"], format=case["format"])) == []


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case["id"])
def test_the_checker_notices_what_is_wrong(case: dict[str, Any]) -> None:
    with Engine("sqlite://", window=200_000, load_plugins=False) as engine:
        thread = engine.thread("another")
        thread.append({"role": "assistant", "content": "word " * 3_000})
        assert set(unmet(case, thread, thread.context())) >= set(case["expect"]) - {"valid", "no_adjacent_roles"}
