"""Redaction: with the plugin, no secret reaches the disk; without it, everything is kept as it was given."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lossless
from lossless import Engine, SecretRedactor
from lossless.errors import ConfigError, PluginError
from lossless.messages import marker

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAtz\nq9Zx\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SECRETS = {
    "aws-access-key": "AKIA" + "Q4XZ7PLM2WRTY6UH",
    "github-token": "ghp_" + "a1B2" * 9,
    "openai-token": "sk-" + "abcdefghijklmnopqrst" + "T3BlbkFJ" + "uvwxyzabcdefghijklmn",
    "api-key": "sk-ant-" + "api03-Zq8w7Er5Ty3Ui1Op9As7Df5",
    "slack-token": "xoxb-" + "123456789012-" + "abcdefghijklmnop",
    "stripe-access-key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "json-web-token": JWT,
    "private-key": PEM,
    "google-api-key": "AIza" + "Sy" + "D" * 33,
}
ASSIGNED = {
    'password = "hunter2-and-more"': "hunter2-and-more",
    "DB_PASSWORD=correct.horse": "correct.horse",
    "curl https://bob:s3cr3tpass@example.com/x": "s3cr3tpass",
    "Authorization: Bearer abcdef0123456789abcdef": "abcdef0123456789abcdef",
    '{"api_key": "zq81-77aa-42ff"}': "zq81-77aa-42ff",
    "https://example.com/?apikey=9f8e7d6c5b&x=1": "9f8e7d6c5b",
}


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return SecretRedactor()


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_of_known_kinds_give_way_to_a_mark(redactor: SecretRedactor, kind: str) -> None:
    secret = SECRETS[kind]
    for text in (secret, f"use {secret}, please", f"key={secret}\nnext line", f"({secret}).", f"`{secret}`"):
        found = redactor.redacted(text)
        assert secret not in found
        assert not any(part in found for part in (secret[-12:], secret[:12])), found
        assert "[redacted: " in found
    assert f"[redacted: {kind}]" in redactor.redacted(f"use {secret}, please")


@pytest.mark.parametrize("text", ASSIGNED)
def test_what_is_assigned_to_a_telling_name_gives_way_and_the_rest_stays(redactor: SecretRedactor, text: str) -> None:
    secret = ASSIGNED[text]
    found = redactor.redacted(text)
    before, after = text.split(secret)
    assert secret not in found
    assert found.startswith(before[: len(before) // 2])
    assert found.endswith(after)


@pytest.mark.parametrize(
    "text",
    [
        "The invoice 4711 of 12 May 2024 amounts to $1,250.40.",
        "My password is not the problem, the token limit is.",
        "commit 1f0e9d8c7b6a5f4e3d2c1b0a9f8e7d6c5b4a3f2e",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "def token_count(text): return len(text)",
        "total_tokens: 1234, secret garden, passwords are hashed",
        "",
    ],
)
def test_ordinary_text_is_left_alone(redactor: SecretRedactor, text: str) -> None:
    assert redactor.redacted(text) == text


@given(st.text(max_size=200), st.sampled_from(sorted(SECRETS.values())), st.text(max_size=200))
def test_redacting_is_stable_and_finds_a_secret_anywhere(before: str, secret: str, after: str) -> None:
    found = REDACTOR.redacted(f"{before} {secret} {after}")
    assert secret not in found
    assert REDACTOR.redacted(found) == found


REDACTOR = SecretRedactor()
AWS, GITHUB = SECRETS["aws-access-key"], SECRETS["github-token"]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": f"my key is {AWS}", "id": "u1"},
    {"role": "user", "content": [{"type": "text", "text": f"and {GITHUB}"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"k": [AWS], "n": 1.0})}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": f"token={GITHUB}\nPASSWORD=hunter2hunter2"},
    {"role": "assistant", "content": "done", "metadata": {"deep": [{"er": {"key": AWS}}]}},
]


@pytest.mark.usefixtures("payloads_in_clear")
def test_no_secret_reaches_the_disk_and_the_message_says_what_was_taken_out(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    with Engine(url, window=8_000, plugins=[REDACTOR], load_plugins=False) as engine:
        thread = engine.thread("t")
        given = json.loads(json.dumps(MESSAGES))
        thread.append(given)
        assert given == MESSAGES, "what was given was changed"
        stored = thread.messages()
        assert [message.redacted for message in stored] == [
            ("aws-access-key",),
            ("github-token",),
            ("aws-access-key",),
            ("github-token", "secret-keyword"),
            ("aws-access-key",),
        ]
        arguments = json.loads(stored[2].payload["tool_calls"][0]["function"]["arguments"])
        assert arguments == {"k": ["[redacted: aws-access-key]"], "n": 1.0}
        assert stored[2].payload["tool_calls"][0]["id"] == "call_1"
        assert not thread.grep("AKIA").items
        assert engine.verify().ok
        assert thread.context().represented == 5
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (AWS, GITHUB, "hunter2hunter2", AWS.lower(), GITHUB.lower()):
        assert secret.encode() not in raw


def test_what_was_redacted_is_recognised_when_it_comes_again(url: str) -> None:
    with Engine(url, window=8_000, plugins=[REDACTOR], load_plugins=False) as engine:
        thread = engine.thread("t")
        refs = thread.sync(MESSAGES)
        assert len(refs) == 5
        assert thread.sync(MESSAGES) == []
        assert thread.append(MESSAGES[0]) == [refs[0]]
        assert thread.sync([*MESSAGES, {"role": "user", "content": f"more of {AWS}"}])[0].seq == 6
        assert thread.sync([message.payload for message in thread.messages()]) == []
        copy = engine.thread("copy")
        copy.append(thread.messages())
        assert [message.payload for message in copy.messages()] == [message.payload for message in thread.messages()]


@pytest.mark.usefixtures("payloads_in_clear")
def test_messages_of_another_engine_are_redacted_as_well(tmp_path: Path) -> None:
    with Engine(f"sqlite:///{tmp_path / 'plain.db'}", load_plugins=False) as plain:
        plain.thread("t").append(MESSAGES)
        kept = plain.thread("t").messages()
    assert [message.payload for message in kept] == MESSAGES, "off by default"
    assert not any(message.redacted for message in kept)
    with Engine(f"sqlite:///{tmp_path / 'own.db'}", plugins=[REDACTOR], load_plugins=False) as engine:
        engine.thread("t").append(kept)
        assert AWS not in json.dumps([message.payload for message in engine.thread("t").messages()])
    assert AWS.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("own.db*"))


def test_a_signed_reasoning_block_with_a_secret_becomes_a_mark(redactor: SecretRedactor) -> None:
    thinking = {"type": "thinking", "thinking": f"the key {AWS} is needed", "signature": "c2lnbmVk" * 8}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": "ok"}]}
    assert redactor.lossless_redact(message) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "[redacted: aws-access-key]"}, {"type": "text", "text": "ok"}],
    }
    harmless = {"role": "assistant", "content": [{**thinking, "thinking": "nothing"}]}
    assert redactor.lossless_redact(harmless) is None


def test_images_and_call_ids_are_left_alone(redactor: SecretRedactor) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": f"iVBOR{AWS}"}}
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{AWS}"}}
    call = {"type": "tool_use", "id": AWS, "name": "f", "input": {"data": "nothing"}}
    assert redactor.lossless_redact({"role": "user", "content": [image, url, call], "id": AWS}) is None
    told = redactor.lossless_redact({"role": "assistant", "content": [{**call, "input": {"data": AWS, "id": AWS}}]})
    assert told is not None
    assert told["content"][0]["input"] == {"data": "[redacted: aws-access-key]", "id": "[redacted: aws-access-key]"}


def test_patterns_of_ones_own_are_looked_for(url: str) -> None:
    redactor = SecretRedactor(patterns={"Passport No.": r"\bC\d{2}X\d{5}\b", "pin": r"PIN (\d{4,})"})
    assert redactor.redacted("C01X00747, PIN 123456") == "[redacted: passport-no], PIN [redacted: pin]"
    with pytest.raises(ConfigError, match="broken"):
        SecretRedactor(patterns={"broken": "("})


class Raising:
    @lossless.hookimpl
    def lossless_redact(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if "bad" in str(message["content"]):
            raise RuntimeError(f"what was in it: {message['content']}")
        return None


class Giving:
    def __init__(self, value: Any) -> None:
        self.value = value

    @lossless.hookimpl
    def lossless_redact(self, message: Mapping[str, Any]) -> Any:
        return self.value


def test_a_redactor_that_fails_keeps_the_append_from_storing_anything(url: str) -> None:
    with Engine(url, plugins=[Raising()], load_plugins=False) as engine:
        thread = engine.thread("t")
        for store in (thread.append, thread.sync):
            with pytest.raises(PluginError, match="nothing was stored") as caught:
                store([{"role": "user", "content": "fine"}, {"role": "user", "content": "a bad secret"}])
            assert "secret" not in str(caught.value)
        assert thread.messages() == []
        assert engine.threads().items == []
        thread.append({"role": "user", "content": "fine"})
        assert len(thread.messages()) == 1
    with Engine(url, namespace="other", plugins=[Giving("a string")], load_plugins=False) as engine:
        with pytest.raises(PluginError, match="gave a str"):
            engine.thread("t").append({"role": "user", "content": "fine"})
        assert engine.threads().items == []


def test_redactors_follow_each_other_and_can_not_change_what_was_given(url: str) -> None:
    class Changing:
        @lossless.hookimpl
        def lossless_redact(self, message: dict[str, Any]) -> None:
            message["content"] = "changed in place"

    class Naming:
        def __init__(self, old: str, new: str) -> None:
            self.old, self.new = old, new

        @lossless.hookimpl
        def lossless_redact(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
            return {**message, "content": message["content"].replace(self.old, self.new)}

    plugins = [Naming("second", marker("Second!")), Naming("first", "second"), Changing()]
    with Engine(url, plugins=plugins, load_plugins=False) as engine:
        given = {"role": "user", "content": "the first"}
        engine.thread("t").append(given)
        (stored,) = engine.thread("t").messages()
        assert given == {"role": "user", "content": "the first"}
        assert (stored.text, stored.redacted) == ("the [redacted: second]", ("second",))


def test_with_a_cipher_it_works_as_well(tmp_path: Path) -> None:
    cipher = lossless.AesGcmCipher("aa" * 32)
    with Engine(f"sqlite:///{tmp_path / 'own.db'}", cipher=cipher, plugins=[REDACTOR], load_plugins=False) as engine:
        engine.thread("t").append(MESSAGES)
        assert engine.thread("t").sync(MESSAGES[1:]) == []
        assert not engine.grep(AWS).items
        assert engine.thread("t").messages()[0].redacted == ("aws-access-key",)


PARTS = ("xoxb-1-", "://a:", "password=", 'password:"', "eyJ.", "//.+/:", " ", "-----BEGIN PRIVATE KEY-----", "aws")


@pytest.mark.parametrize("part", PARTS)
def test_no_text_takes_time_that_grows_with_its_square(redactor: SecretRedactor, part: str) -> None:
    def took(size: int) -> float:
        text = ("password" + part * size)[:size]
        begun = time.process_time()
        redactor.redacted(text)
        return time.process_time() - begun

    took(1_000)
    assert took(80_000) < 0.5 + 16 * took(20_000)
    assert took(80_000) < 20


def test_a_secret_at_any_place_of_a_long_text_is_found(redactor: SecretRedactor) -> None:
    for place in (*range(1_400, 2_200, 37), 50_000):
        text = "word " * (place // 5) + f" {AWS} {JWT} " + "word " * 10_000
        found = redactor.redacted(text)
        assert AWS not in found
        assert JWT[:20] not in found
        assert JWT[-20:] not in found
