"""Payloads are compressed where it pays, come back byte for byte, and a damaged one is named."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossless import Engine
from lossless.errors import CorruptError, MessageError
from lossless.messages.payload import encode
from lossless.store import blobs
from lossless.store.blobs import RAW, TRAINED, ZSTD, pack, unpack

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORED = "204d3501009381043b42c1e7f99fc7a59bfd52d7d53e0704461405fc5fa48f832c349ad5f4224b9c52ead0"
LONG = "The build failed in services/billing/retry.py after 1 204 seconds. " * 200


@given(
    st.one_of(st.binary(max_size=5_000), st.builds(lambda part, times: part * times, st.binary(max_size=50), st.integers(0, 500)))
)
def test_any_bytes_come_back_from_the_form_they_are_stored_in(data: bytes) -> None:
    codec, stored = pack(data)
    assert unpack(codec, len(data), stored) == data
    assert len(stored) <= len(data)


def test_only_what_gets_smaller_is_compressed_and_most_of_it_by_the_dictionary() -> None:
    assert pack(b"a" * 60) == (RAW, b"a" * 60)
    for noise in (os.urandom(400), os.urandom(100_000)):
        assert pack(noise) == (RAW, noise)
    for data, expected in ((LONG.encode(), TRAINED), (10 * LONG.encode(), ZSTD)):
        codec, stored = pack(data)
        assert codec == expected
        assert len(stored) < len(data) / 20


def test_a_short_message_takes_half_its_bytes() -> None:
    said = encode(
        {"role": "user", "content": "The tests pass again, since the index is made in the same transaction as the message."}
    )
    codec, stored = pack(said)
    assert codec == TRAINED
    assert len(stored) < 0.55 * len(said)


def test_what_was_stored_with_the_dictionary_can_be_read_for_ever() -> None:
    file = Path(blobs.__file__).with_name("dictionary_1.zdict")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == "ee005239880a412d97cc386273cbab58efd365f6eaead4338d1b1c44a2697aff"
    assert (
        unpack(TRAINED, 77, bytes.fromhex(STORED))
        == b'{"role":"user","content":"What fails, and since when does it do so, please?"}'
    )


def test_more_bytes_than_a_row_can_keep_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "LARGEST", 10_000)
    with pytest.raises(MessageError, match="13,600 bytes can't be stored"):
        pack(b"12345678" * 1_700)


BOMB = zstd.compress(bytes(200_000_000))
DAMAGES = {
    "a bomb that says its size": (ZSTD, 5_000, BOMB),
    "a bomb that hides its size": (ZSTD, 5_000, BOMB[:4] + zstd.compress(bytes(5_000))[4:9] + BOMB[9:]),
    "a larger size than is there": (ZSTD, 10_000_000, zstd.compress(bytes(5_000))),
    "a negative size": (ZSTD, -1, zstd.compress(bytes(5_000))),
    "a size that no row has": (ZSTD, 2**62, zstd.compress(bytes(5_000))),
    "no frame": (ZSTD, 5_000, b"plain text" * 500),
    "nothing": (ZSTD, 5_000, b""),
    "half a frame": (ZSTD, len(LONG), zstd.compress(LONG.encode())[:-9]),
    "something behind the frame": (ZSTD, len(LONG), zstd.compress(LONG.encode()) + b"more"),
    "raw bytes of another size": (RAW, 5_000, b"short"),
    "a frame of no dictionary": (TRAINED, 5_000, zstd.compress(bytes(4_000))[4:]),
    "half a frame of the dictionary": (TRAINED, 77, bytes.fromhex(STORED)[:-9]),
    "a frame of the dictionary with more behind it": (TRAINED, 77, bytes.fromhex(STORED) + b"more"),
    "a frame of the dictionary said to be of none": (ZSTD, 77, b"\x28\xb5\x2f\xfd" + bytes.fromhex(STORED)),
    "an unknown codec": ("lzma", 5_000, b"bytes"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_no_payload_of_its_size_is_refused_without_unpacking_more(name: str) -> None:
    with pytest.raises(CorruptError):
        unpack(*DAMAGES[name])


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_blob_is_an_error_that_names_its_message(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'damaged.db'}"
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append([{"role": "user", "content": "fine"}, {"role": "user", "content": LONG}])
    codec, size, data = DAMAGES[name]
    with sqlite3.connect(tmp_path / "damaged.db") as connection:
        connection.execute("DROP TRIGGER lossless_blob_no_update")
        connection.execute("UPDATE lossless_blob SET codec = ?, size = ?, data = ? WHERE size > 1000", (codec, size, data))
    connection.close()
    with Engine(url, window=100_000, load_plugins=False) as engine:
        thread = engine.thread("t")
        for read in (thread.messages, thread.context, lambda: thread.grep("billing"), lambda: thread.expand("m_2")):
            with pytest.raises(CorruptError, match=r"message m_2 \(seq 2\) of thread t"):
                read()
        assert [problem for problem in engine.verify().problems if "m_2" in problem]


def test_compressed_messages_are_verbatim_searchable_and_recognised_again(url: str) -> None:
    given = [{"id": f"m{n}", "role": "user", "content": f"{LONG}{n} ünïcode \ud800"} for n in range(3)]
    with Engine(url, window=100_000, load_plugins=False) as engine:
        engine.thread("t").append(given)
        engine.thread("t").append([{"content": each["content"], "id": each["id"], "role": "user"} for each in given])
    with Engine(url, window=100_000, load_plugins=False) as engine:
        thread = engine.thread("t")
        assert [message.payload for message in thread.messages()] == given
        assert [list(message.payload) for message in thread.messages()] == [["id", "role", "content"]] * 3
        assert {hit.message_id for hit in thread.grep("BILLING/retry")} == {"m0", "m1", "m2"}
        assert [hit.message_id for hit in thread.grep("2 ünï")] == ["m2"]
        assert engine.verify().ok
