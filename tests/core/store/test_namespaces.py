"""A namespace's digests are keyed with its secret: they say nothing to anybody else."""

from __future__ import annotations

import hashlib

from sqlalchemy import text

from lossless import Engine

SAID = {"role": "user", "content": "my number is 555-0199"}


def stored_digests(engine: Engine) -> list[bytes]:
    with engine.database.read() as connection:
        wanted = text("SELECT digest FROM lossless_blob WHERE namespace = :namespace")
        return [bytes(found) for found in connection.execute(wanted, {"namespace": engine.namespace}).scalars()]


def test_equal_content_has_another_digest_in_another_namespace(url: str) -> None:
    found = []
    for namespace in ("one", "two"):
        with Engine(url, namespace=namespace, load_plugins=False) as engine:
            engine.thread("t").append([SAID, SAID])
            found.append(stored_digests(engine))
    assert [len(each) for each in found] == [1, 1], "equal content is stored once, in each namespace"
    assert found[0] != found[1]


def test_a_digest_is_no_bare_hash_of_the_content(url: str) -> None:
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append(SAID)
        payload = engine.thread("t").messages()[0].data
        digest = stored_digests(engine)[0]
    guesses = [payload, b"default" + payload, b"lossless blob\0default" + payload, SAID["content"].encode()]
    assert digest not in [hashlib.sha256(guess).digest() for guess in guesses]


def test_a_secret_stays_over_reopening_and_is_made_by_the_first_write_only(url: str) -> None:
    count = text("SELECT count(*) FROM lossless_namespace")
    with Engine(url, load_plugins=False) as engine:
        assert engine.thread("t").messages() == []
        assert not engine.grep("555").items
        with engine.database.read() as connection:
            assert connection.execute(count).scalar() == 0
        engine.thread("t").append(SAID)
    with Engine(url, load_plugins=False) as engine:
        engine.thread("t").append(SAID)
        assert len(stored_digests(engine)) == 1
        assert engine.verify().ok
