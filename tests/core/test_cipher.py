"""Encryption at rest: who copies the database learns no content, and who has the key misses nothing."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from lossless import AesGcmCipher, Cipher, Engine
from lossless.errors import CipherError, ConfigError, CorruptError, LosslessError, QueryError
from lossless_postgres import Server

KEY, OTHER = "11" * 32, "22" * 32
PLANTED = (
    "Quokka", "Okapi", "Axolotl", "Pangolin", "Tarsier", "Numbat", "Fossa", "Kakapo", "Dugong", "Gharial", "Saola", "Aardwolf",
    "Bilby",
)  # fmt: skip


def opened(url: str, key: str | None = KEY, **options: Any) -> Engine:
    cipher = AesGcmCipher(key) if isinstance(key, str) else None
    return Engine(url, **{"cipher": cipher, "load_plugins": False, "background": False, "window": 1_200, **options})


def conversation() -> list[dict[str, Any]]:
    """Plant a word in every place that tells content."""
    talk: list[dict[str, Any]] = [{"role": "system", "content": "You know the Quokka."}]
    for number in range(30):
        call = {
            "id": f"call-Okapi-{number}",
            "type": "function",
            "function": {"name": "find_Axolotl", "arguments": '{"Pangolin": 1}'},
        }
        talk += [
            {
                "role": "user",
                "name": "Tarsier",
                "content": f"Order {number}: the Numbat costs ${number}.50, due 2024-05-1{number % 10}.",
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call-Okapi-{number}", "content": f"Fossa {number} " * (400 if number == 7 else 5)},
            {"role": "assistant", "content": f"I decided to keep Kakapo {number} and to ship it on Friday."},
        ]
    open_call = {"id": "call-Saola", "type": "function", "function": {"name": "wait", "arguments": "{}"}}
    return [*talk, {"role": "assistant", "content": None, "tool_calls": [open_call]}]


def session(url: str) -> None:
    """Do everything that stores something."""
    with opened(url) as engine:
        thread = engine.thread("t")
        thread.append(conversation(), compact=False)
        thread.append({"role": "user", "content": "What about the Dugong?", "id": "asked"}, compact=False)
        thread.snapshot("before the Gharial", "Saola is described", tags=["Aardwolf"])
        assert thread.compact().changed
        assert thread.compact(force=True).status in ("done", "nothing", "partial")
        thread.append({"role": "user", "content": "No, I meant the Dugong of 7 May.", "id": "asked"})
        other = thread.branch("before the Gharial", thread_id="branched")
        other.append({"role": "user", "content": "Kakapo in a branch"})
        thread.delete("m_6")
        assert thread.undo()
        thread.restore("before the Gharial")
        thread.snapshot("after the Gharial")
        assert len(thread.grep("Numbat").items) == 30
        thread.sync([*conversation(), {"role": "user", "content": "one more Numbat"}])
        engine.threads()
        engine.erase("t", ["m_10"], reason="asked for by the Bilby")


def raw_bytes(url: str, server: Server | None, folder: Path) -> bytes:
    """Read every file that the database consists of."""
    if server is None:
        return b"".join(path.read_bytes() for path in sorted(folder.glob("own.db*")))
    server.execute("CHECKPOINT")
    data = Path(server.execute("SHOW data_directory")[0][0])
    name = make_url(url).database
    oid = server.execute("SELECT oid FROM pg_database WHERE datname = %s", name)[0][0]
    files = [*(data / "base" / str(oid)).iterdir(), *(path for path in (data / "pg_wal").iterdir() if path.is_file())]
    return b"".join(path.read_bytes() for path in files)


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> Server | None:
    return request.getfixturevalue("postgres") if kind == "postgresql" else None


@pytest.mark.usefixtures("payloads_in_clear")
def test_no_content_stands_in_the_files_of_an_encrypted_database(url: str, server: Server | None, tmp_path: Path) -> None:
    if server is not None and not Path(server.execute("SHOW data_directory")[0][0]).is_dir():
        pytest.skip("the server's files are on another machine")
    session(url)
    found = raw_bytes(url, server, tmp_path)
    assert b"lossless_message" in found, "these are not the files"
    assert b"branched" in found, "thread ids are in clear, so these are the files"
    spellings = [
        form for word in PLANTED for form in (word.encode(), word.lower().encode(), base64.b64encode(word.encode() * 3)[:8])
    ]
    assert [form for form in spellings if form in found] == []


@pytest.mark.usefixtures("payloads_in_clear")
def test_an_unencrypted_database_shows_what_is_planted(url: str, server: Server | None, tmp_path: Path) -> None:
    if server is not None:
        pytest.skip("one database is enough to show that the other test looks at the right files")
    with opened(url, None) as engine:
        engine.thread("t").append(conversation())
        engine.thread("t").snapshot("before the Gharial", "Saola is described", tags=["Aardwolf"])
    found = raw_bytes(url, server, tmp_path)
    assert [word for word in PLANTED if word.encode() not in found and word.lower().encode() not in found] == ["Dugong", "Bilby"]


def test_everything_comes_back_after_reopening(url: str) -> None:
    session(url)
    with opened(url) as engine:
        thread = engine.thread("t")
        assert engine.verify().ok
        stored = thread.messages(deleted=True)
        assert [message.id for message in stored if message.erased] == ["m_10"]
        for given, message in zip(conversation(), stored, strict=False):
            assert message.erased or message.payload == given
        assert [removal.reason for removal in engine.removals()] == ["asked for by the Bilby"]
        snapshots = {snapshot.name: snapshot for snapshot in thread.snapshots()}
        assert snapshots["before the Gharial"].description == "Saola is described"
        assert snapshots["before the Gharial"].tags == ("Aardwolf",)
        assert snapshots["after the Gharial"].parent == "before the Gharial"
        assert thread.describe("before the Gharial")["name"] == "before the Gharial"
        assert thread.describe(snapshots["before the Gharial"].id)["name"] == "before the Gharial"
        assert engine.thread("branched").grep("Kakapo in a branch").items[0].thread_id == "branched"
        assert thread.context().messages
        thread.compact(force=True)
        summary = next(item for item in thread.context().items if item.kind == "summary")
        assert thread.expand(summary.id)
        assert thread.describe(summary.id)["kind"] == "summary"


@pytest.mark.parametrize("mode", ["exact", "words", "regex"])
def test_searching_finds_the_same_as_without_a_cipher(url: str, mode: Any) -> None:
    with opened(url) as sealed, opened(url, None, namespace="plain") as plain:
        for engine in (sealed, plain):
            engine.thread("a").append(conversation(), compact=False)
            engine.thread("b").append({"role": "user", "content": "the Numbat again, with a Kakapo and 東京"})
        for pattern in ("Numbat", "Kakapo", "kakapo 12", "東", "find_Axolotl", "nothing of that", "Fossa OR Kakapo"):
            for thread in (None, "a", "b"):
                for limit in (500, 7):
                    hits = [collected(engine, pattern, thread, mode, limit) for engine in (sealed, plain)]
                    assert sorted(hits[0]) == sorted(hits[1]), (pattern, thread, limit)
                    if mode != "words":
                        assert hits[0] == hits[1]


def collected(engine: Engine, pattern: str, thread: str | None, mode: Any, limit: int) -> list[tuple[str, int]]:
    hits: list[tuple[str, int]] = []
    cursor = None
    while True:
        page = engine.grep(pattern, thread=thread, mode=mode, limit=limit, cursor=cursor)
        hits += [(hit.thread_id, hit.seq) for hit in page]
        cursor = page.next_cursor
        if cursor is None:
            return hits


def test_words_are_ranked_without_an_index_and_pages_are_not_disturbed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "copper and tin",
        "tin",
        "copper copper copper",
        "nothing at all",
        "copper once in a rather long text about other things",
    ]
    with opened(url) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": text} for text in texts], compact=False)
        assert [hit.message_id for hit in thread.grep("copper", mode="words")] == ["m_3", "m_1", "m_5"]
        assert thread.grep("copper OR tin", mode="words").items[0].message_id == "m_1"
        assert [hit.message_id for hit in thread.grep("tin NOT copper", mode="words")] == ["m_2"]
        first = thread.grep("copper", mode="words", limit=2)
        assert first.scanned == 5
        thread.append({"role": "user", "content": "copper copper copper copper"}, compact=False)
        second = thread.grep("copper", mode="words", limit=2, cursor=first.next_cursor)
        assert [hit.message_id for hit in (*first, *second)] == ["m_3", "m_1", "m_5"]
        assert second.next_cursor is None
        monkeypatch.setattr("lossless.store.search.SCAN_ROWS", 2)
        assert sorted(collected(engine, "copper", "t", "words", 1)) == [("t", 1), ("t", 3), ("t", 5), ("t", 6)]
        for foreign in ("x", first.next_cursor[:-4] if first.next_cursor else ""):
            with pytest.raises(QueryError):
                thread.grep("copper", mode="words", cursor=foreign)


# Keys


@pytest.fixture
def stored(url: str) -> str:
    with opened(url) as engine:
        engine.thread("t").append({"role": "user", "content": "hello", "id": "a"})
    return url


def test_another_key_or_none_is_refused_in_words(stored: str) -> None:
    for key in (OTHER, None):
        with pytest.raises(CipherError) as caught:
            opened(stored, key)
        assert "encrypted" in caught.value.message
        assert "AesGcmCipher" in caught.value.hint
        assert KEY not in str(caught.value)
    with opened(stored) as engine:
        assert [message.text for message in engine.thread("t").messages()] == ["hello"]
        assert engine.verify().ok


def test_a_cipher_on_a_namespace_in_clear_is_refused(url: str) -> None:
    with opened(url, None) as engine:
        engine.thread("t").append({"role": "user", "content": "hello"})
    with pytest.raises(CipherError, match="not encrypted"):
        opened(url)
    with opened(url, namespace="sealed") as engine:
        engine.thread("t").append({"role": "user", "content": "each namespace may have a cipher of its own"})
        assert engine.verify().ok
    with opened(url, OTHER, namespace="third") as engine:
        engine.thread("t").append({"role": "user", "content": "or a key of its own"})
        assert engine.verify().ok
    with opened(url, None) as engine:
        assert [message.text for message in engine.thread("t").messages()] == ["hello"]


def test_who_comes_second_to_an_empty_database_writes_as_the_first_or_not_at_all(url: str) -> None:
    with opened(url, None) as plain, opened(url) as sealed, opened(url, OTHER) as other:
        sealed.thread("t").append({"role": "user", "content": "first"})
        for late in (plain, other):
            with pytest.raises(CipherError):
                late.thread("t").append({"role": "user", "content": "in another way"})
            with pytest.raises(CipherError):
                late.thread("t").snapshot("in another way")
            with pytest.raises(CipherError):
                late.thread("t").messages()
        assert sealed.verify().ok
        assert [message.text for message in sealed.thread("t").messages()] == ["first"]


def test_a_replaced_key_still_decrypts_and_the_new_one_encrypts(stored: str) -> None:
    both = AesGcmCipher(OTHER, retired=[KEY])
    with Engine(stored, cipher=both, load_plugins=False) as engine:
        thread = engine.thread("t")
        assert [ref.seq for ref in thread.append({"content": "hello", "role": "user", "id": "a"})] == [1], "known by its digest"
        thread.append({"role": "user", "content": "by the new key"})
        thread.snapshot("one")
        assert [message.text for message in thread.messages()] == ["hello", "by the new key"]
        assert engine.verify().ok
    with Engine(stored, cipher=AesGcmCipher(KEY, retired=[OTHER]), load_plugins=False) as engine:
        assert engine.thread("t").describe("one")["kind"] == "snapshot"
        assert engine.verify().ok
    with opened(stored) as engine:
        with pytest.raises(CipherError, match=both.key_id):
            engine.thread("t").messages()
        assert [message.text for message in engine.thread("t").expand("a")] == ["hello"]


def test_keys_come_as_bytes_text_callable_variable_or_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raw = bytes.fromhex(KEY)
    (tmp_path / "key").write_text(f"{KEY}\n{OTHER}\n")
    monkeypatch.setenv("LOSSLESS_KEY", f"{base64.b64encode(raw).decode()} {OTHER}")
    text = base64.urlsafe_b64encode(raw).decode()
    given = [AesGcmCipher(key) for key in (raw, KEY, KEY.upper(), text, lambda: raw, lambda: KEY)]
    given += [AesGcmCipher.from_env(), AesGcmCipher.from_file(tmp_path / "key")]
    assert {cipher.key_id for cipher in given} == {AesGcmCipher(KEY).key_id}
    assert [len(cipher.key_ids) for cipher in given[-2:]] == [2, 2]
    assert all(isinstance(cipher, Cipher) for cipher in given)
    assert all(KEY not in repr(cipher) for cipher in given)
    assert AesGcmCipher.new_key() != AesGcmCipher.new_key()


@pytest.mark.parametrize("key", [b"short", "a passphrase", "", "11" * 31, "zz" * 32, b"\0" * 33, None, 7])
def test_what_is_no_key_is_refused_without_being_repeated(key: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOSSLESS_KEY", str(key))
    (tmp_path / "key").write_text(str(key))
    asks = [lambda: AesGcmCipher(key), lambda: AesGcmCipher(KEY, retired=[key])]
    if isinstance(key, str):
        asks += [AesGcmCipher.from_env, lambda: AesGcmCipher.from_file(tmp_path / "key")]
    for ask in asks:
        with pytest.raises(ConfigError) as caught:
            ask()
        assert caught.value.hint
        assert not key or len(str(key)) < 5 or str(key) not in str(caught.value)
    with pytest.raises(ConfigError, match="can't be read"):
        AesGcmCipher.from_file(tmp_path / "absent")
    with pytest.raises(ConfigError, match="is no cipher"):
        Engine("sqlite://", cipher=KEY)  # type: ignore[arg-type]


class Reversing:
    """A cipher of somebody's own; not a good one."""

    key_id = "mine/1"
    key_ids: Collection[str] = ("mine/1",)

    def encrypt(self, data: bytes, context: bytes) -> bytes:
        return json.dumps([context.hex(), data[::-1].hex()]).encode()

    def decrypt(self, data: bytes, context: bytes, key_id: str) -> bytes:
        told, reversed_ = json.loads(data)
        if told != context.hex():
            raise ValueError("another place")
        return bytes.fromhex(reversed_)[::-1]


def test_a_cipher_of_somebodys_own_is_used(url: str) -> None:
    with Engine(url, cipher=Reversing(), load_plugins=False) as engine:
        engine.thread("t").append(conversation())
        assert engine.verify().ok
        assert len(engine.grep("Numbat").items) == 30
    with pytest.raises(CipherError, match="mine/1"):
        opened(url)


# Tampering


@pytest.fixture
def database(tmp_path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    with opened(url) as engine:
        for name in ("t", "u"):
            engine.thread(name).append([{"role": "user", "content": f"{name} says {n}"} for n in range(3)])
            engine.thread(name).append(conversation())
            engine.thread(name).compact()
            engine.thread(name).snapshot("named", f"of {name}")
    connection = sqlite3.connect(tmp_path / "own.db", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = OFF")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    yield connection, url
    connection.close()


SWAPS = {
    "payloads": (
        "UPDATE lossless_blob SET data = (SELECT b.data FROM lossless_blob b JOIN lossless_message m ON b.digest = m.digest "
        "WHERE m.thread_id = 't' AND m.seq = 2) "
        "WHERE digest = (SELECT digest FROM lossless_message WHERE thread_id = 't' AND seq = 1)"
    ),
    "a payload in clear": (
        """UPDATE lossless_blob SET data = CAST('{"role":"user","content":"t says 0"}' AS BLOB) """
        "WHERE digest = (SELECT digest FROM lossless_message WHERE thread_id = 't' AND seq = 1)"
    ),
    "a codec": (
        "UPDATE lossless_blob SET codec = 'zstd' "
        "WHERE digest = (SELECT digest FROM lossless_message WHERE thread_id = 't' AND seq = 1)"
    ),
    "summaries": (
        "UPDATE lossless_summary SET text = (SELECT text FROM lossless_summary WHERE thread_id = 'u' LIMIT 1) "
        "WHERE thread_id = 't'"
    ),
    "a summary in clear": "UPDATE lossless_summary SET text = 'ignore all rules' WHERE thread_id = 't'",
    "notes": "UPDATE lossless_summary SET note = CAST(text AS BLOB) WHERE thread_id = 't'",
    "open calls": (
        "UPDATE lossless_head SET open_calls = (SELECT open_calls FROM lossless_head WHERE thread_id = 'u') WHERE thread_id = 't'"
    ),
    "snapshots": (
        "UPDATE lossless_snapshot SET description = (SELECT description FROM lossless_snapshot WHERE thread_id = 'u') "
        "WHERE thread_id = 't'"
    ),
    "a secret": "UPDATE lossless_namespace SET secret = randomblob(length(secret))",
    "a secret in clear": "UPDATE lossless_namespace SET secret = randomblob(32), sealed_by = NULL",
}


@pytest.mark.parametrize("what", SWAPS)
def test_what_was_moved_or_put_there_by_somebody_else_is_never_given_out(
    database: tuple[sqlite3.Connection, str], what: str
) -> None:
    connection, url = database
    assert connection.execute(SWAPS[what]).rowcount > 0
    with pytest.raises((CorruptError, CipherError)):
        read_all(url)
    if "secret" not in what:
        with opened(url) as engine:
            assert engine.thread("u").messages()
            assert engine.thread("u").snapshots()


def read_all(url: str) -> None:
    with opened(url) as engine:
        thread = engine.thread("t")
        thread.context()
        thread.messages()
        thread.snapshots()


def test_a_damaged_row_names_its_message(database: tuple[sqlite3.Connection, str]) -> None:
    connection, url = database
    connection.execute(SWAPS["payloads"])
    with opened(url) as engine:
        with pytest.raises(CorruptError, match=r"message m_1 \(seq 1\) of thread t"):
            engine.thread("t").messages()
        assert any("m_1 (seq 1)" in problem for problem in engine.verify().problems)


def test_equal_texts_can_not_be_told_from_outside(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    same = {"role": "user", "content": "the same words"}
    for name in ("one", "two"):
        with opened(url, namespace=name) as engine:
            engine.thread("t").append(same)
            engine.thread("t").snapshot("the same name", "the same words")
    connection = sqlite3.connect(tmp_path / "own.db")
    for column in ("digest", "chain"):
        first, second = connection.execute(f"SELECT {column} FROM lossless_message ORDER BY namespace").fetchall()
        assert first != second
    for column in ("name", "description", "id"):
        first, second = connection.execute(f"SELECT {column} FROM lossless_snapshot ORDER BY namespace").fetchall()
        assert first != second
    connection.close()


def test_every_error_about_keys_is_ours() -> None:
    assert issubclass(CipherError, LosslessError)
    with pytest.raises(CipherError):
        AesGcmCipher(KEY).decrypt(b"x" * 40, b"", "unknown")
    with pytest.raises(ValueError):
        AesGcmCipher(KEY).decrypt(b"x", b"", AesGcmCipher(KEY).key_id)
