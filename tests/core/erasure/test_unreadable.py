"""What can't be read any more goes all the same, with every word of it: damaged messages, and those of a format that is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import text

import lossless
from lossless import Engine
from lossless.messages.parts import Text
from lossless.store.index_held import held_instances
from lossless_children import opened
from lossless_tampering import tamper


class Plain:
    """A format of a plugin's own, which another process may not have, or have in a version that reads it no longer."""

    name = "plain/1"
    broken = False

    def role(self, payload: Mapping[str, Any]) -> str:
        return str(payload["who"])

    def read(self, payload: Mapping[str, Any]) -> tuple[Text, ...]:
        return (Text(str(payload["said and done" if self.broken else "said"])),)

    @lossless.hookimpl
    def lossless_formats(self) -> list[Plain]:
        return [self]


def fill(url: str) -> None:
    with opened(url, plugins=[Plain()]) as engine:
        said = [{"who": "user", "said": f"zebraquux{n} was here"} for n in range(3)]
        engine.thread("t").append(said, format="plain/1")
        engine.thread("other").append({"role": "user", "content": "a penguin"})


def words_of(engine: Engine) -> set[str]:
    """Give every word that the search index of a database holds."""
    with engine.database.read() as connection:
        if connection.dialect.name == "sqlite":
            return {word for _docid, _column, _place, word in held_instances(connection)}
        held = connection.execute(text("SELECT unnest(tsvector_to_array(tokens)) FROM lossless_search_doc")).scalars()
        return set(held)


def damage(url: str) -> None:
    digest = "(SELECT digest FROM lossless_message WHERE thread_id = 't' AND seq = 2)"
    kind = "BLOB" if url.startswith("sqlite") else "bytea"
    tamper(url, f"UPDATE lossless_blob SET codec = 'raw', size = 2, data = CAST('{{}}' AS {kind}) WHERE digest = {digest}")


@pytest.mark.parametrize("why", ["damaged", "no format", "another version of the format"])
def test_the_index_forgets_an_erased_message_that_can_not_be_read(url: str, why: str) -> None:
    fill(url)
    plain = Plain()
    plain.broken = why == "another version of the format"
    if why == "damaged":
        damage(url)
    with opened(url, plugins=[] if why == "no format" else [plain]) as engine:
        assert "zebraquux1" in words_of(engine)
        assert [stone.seq for stone in engine.erase("t", ["m_2"])] == [2]
        words = words_of(engine)
        assert "zebraquux1" not in words
        assert {"zebraquux0", "zebraquux2", "penguin"} <= words
        assert not [finding for finding in engine.verify().findings if finding.kind == "index"]


@pytest.mark.parametrize("why", ["damaged", "no format"])
def test_the_index_forgets_a_thread_that_is_collected_and_can_not_be_read(url: str, why: str) -> None:
    fill(url)
    if why == "damaged":
        damage(url)
    with opened(url, plugins=[] if why == "no format" else [Plain()]) as engine:
        engine.delete_thread("t")
        assert engine.collect_garbage().threads == ("t",)
        assert not [word for word in words_of(engine) if word.startswith("zebraquux")]
        assert "penguin" in words_of(engine)
        assert engine.verify().problems == ()
