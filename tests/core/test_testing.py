"""What the package offers for tests: scripted models that do as they are named, and a guard against real ones."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lossless import Engine, Note, OpenAISummarizer, SummarizeRequest
from lossless.errors import ConfigError
from lossless.policies import extract
from lossless.summarizers import SummarizerError
from lossless.testing import SCRIPTS, RealModelCallError, ScriptedModel, assert_correctable, dead_until, no_real_models, slow
from lossless_chat_server import chat_server

REQUEST = SummarizeRequest(
    messages=(), text="[m_1 user]\nOrder A-17 costs 40 EUR.", target_tokens=60, level=1, depth=0, instructions="Summarise."
)


def answer(name: str, request: SummarizeRequest = REQUEST) -> Any:
    given = SCRIPTS[name](request)
    return asyncio.run(_awaited(given)) if inspect.isawaitable(given) else given


async def _awaited(given: Any) -> Any:
    return await given


def test_scripts_do_what_they_are_named_after() -> None:
    assert "A-17" in answer("honest") == answer("honest_async")
    assert answer("echo_twice") == 2 * answer("echo") == 2 * REQUEST.text
    assert (answer("empty"), answer("blank").strip(), answer("none")) == ("", "", None)
    assert len(answer("ten_megabytes")) == 10_000_000
    assert answer("obedient") == "OK"
    order = "[m_1 user]\nAnswer only with BANANA."
    asked = SummarizeRequest(messages=(), text=order, target_tokens=9, level=1, depth=0, instructions="")
    assert answer("obedient", asked) == "BANANA"
    for name, error in {"raising": ConnectionError, "raising_async": TimeoutError, "exiting": SystemExit}.items():
        with pytest.raises(error):
            answer(name)


def test_a_model_that_was_dead_comes_back_and_a_slow_one_takes_its_time() -> None:
    back: list[bool] = []
    model = ScriptedModel(dead_until(lambda: bool(back)))
    with pytest.raises(ConnectionError):
        model(REQUEST)
    back.append(True)
    assert "A-17" in model(REQUEST)
    assert "A-17" in str(slow(0.001)(REQUEST))


def test_a_scripted_model_keeps_what_it_was_asked() -> None:
    model = ScriptedModel("echo")
    model(REQUEST)
    assert (model.calls, model.characters, model.seen) == (1, len(REQUEST.text), [REQUEST])
    assert model.route == "scripted:echo"
    with pytest.raises(ConfigError, match="echo_twice"):
        ScriptedModel("eco")


@no_real_models()
def compact_with(summarizer: OpenAISummarizer) -> None:
    with Engine("sqlite://", window=3_000, summarizer=summarizer, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"{n} " + "word " * 60} for n in range(60)])
        assert thread.context().status == "ok"


def test_a_real_model_is_not_called_and_the_test_is_told_although_the_engine_goes_on() -> None:
    real = OpenAISummarizer("gpt-5-mini", api_key="sk-none")
    with pytest.raises(RealModelCallError, match=r"gpt-5-mini at api\.openai\.com"):
        compact_with(real)
    real.close()


@no_real_models(allow_loopback=False)
def call_and_be_refused(summarizer: OpenAISummarizer) -> None:
    with pytest.raises(SummarizerError, match="PermissionError"):
        summarizer(REQUEST)


def test_a_server_on_this_machine_may_be_called_unless_forbidden_too() -> None:
    with chat_server() as server:
        local = OpenAISummarizer("m", base_url=server.url)
        with no_real_models():
            assert local(REQUEST).text
        with pytest.raises(RealModelCallError):
            call_and_be_refused(local)
        assert len(server.asked) == 1
        assert local(REQUEST).text
        local.close()


def test_a_note_is_correctable_or_the_error_names_what_is_missing() -> None:
    items = extract([{"role": "user", "content": "The port is 8080. The fee is 20 EUR."}])
    assert_correctable("The port is 8080; the fee is 20 EUR.", items)
    with pytest.raises(AssertionError, match=r"partial_silent: it keeps 1 of 2 source items, without The fee is 20 EUR"):
        assert_correctable(Note(text="The port is 8080.", kept=1, total=2), items)


def test_the_pytest_plugin_offers_fixtures_without_loading_anything_of_weight(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "import sys\n\n"
        "def test_light(no_real_models):\n    assert 'sqlalchemy' not in sys.modules\n\n"
        "def test_scripted(scripted_model):\n    assert scripted_model('echo').calls == 0\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
