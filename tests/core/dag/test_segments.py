"""Segments, views and the persistent vector that they are stored in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from lossless.dag import vector
from lossless.dag.segments import Hidden, Raw, Segment, SummaryRef, Tail, from_json, to_json
from lossless.dag.view import GENESIS, View, ViewStore
from lossless.errors import CorruptError
from lossless.store.connection import Database, open_database
from lossless_postgres import Server

NUMBERS = st.integers(0, 2**62)
SEGMENTS: st.SearchStrategy[Segment] = st.one_of(
    st.builds(Raw, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.builds(Hidden, NUMBERS, NUMBERS),
    st.builds(Tail, NUMBERS, NUMBERS),
    st.builds(SummaryRef, st.text(), NUMBERS, NUMBERS, NUMBERS, st.booleans()),
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "sqlite":
        opened = open_database("sqlite://")
        yield opened
        opened.close()
        return
    server: Server = request.getfixturevalue("postgres")
    with server.database() as url:
        opened = open_database(url)
        yield opened
        opened.close()


@given(SEGMENTS)
def test_a_segment_survives_its_json(segment: Segment) -> None:
    assert from_json(to_json(segment)) == segment


@pytest.mark.parametrize("value", [None, 5, [], ["raw"], ["raw", 1], ["nothing", 1, 2], ["tail", 1, 2, 3], {"raw": 1}, "raw"])
def test_what_is_no_segment_is_corrupt(value: object) -> None:
    with pytest.raises(CorruptError):
        from_json(value)


def test_the_genesis_view_stands_for_nothing() -> None:
    assert GENESIS.tokens(0) == GENESIS.messages(1) == 0


def test_a_view_counts_what_it_shows_and_not_what_it_hides() -> None:
    view = View((Raw(1, 3, 0, 30), Hidden(4, 5), SummaryRef("sum_a", 0, 7, 4), Tail(10, 90)))
    assert view.tokens(100) == 30 + 7 + 10
    assert view.messages(11) == 3 + 4 + 1
    assert view.hidden() == [range(4, 6)]


@settings(max_examples=40)
@given(st.lists(st.integers(), max_size=9) | st.integers(60, 9_000).map(lambda n: list(range(n))))
def test_a_vector_gives_back_what_was_stored_under_its_address(database: Database, elements: list[int]) -> None:
    root = database.write(lambda connection: vector.store(connection, "tenant", elements))
    assert root == vector.address(elements)
    with database.read() as connection:
        assert vector.load(connection, "tenant", root) == elements


def test_lists_that_differ_late_share_all_nodes_but_a_few(database: Database) -> None:
    def nodes(connection: Connection) -> int:
        return int(connection.execute(text("SELECT count(*) FROM lossless_node WHERE namespace = 'shared'")).scalar_one())

    def grow(connection: Connection) -> int:
        vector.store(connection, "shared", list(range(5_000)))
        before = nodes(connection)
        vector.store(connection, "shared", list(range(5_001)))
        return nodes(connection) - before

    assert database.write(grow) <= 4


def test_a_vector_is_another_tenants_secret(database: Database) -> None:
    root = database.write(lambda connection: vector.store(connection, "one", [1, 2, 3]))
    with pytest.raises(CorruptError), database.read() as connection:
        vector.load(connection, "other", root)


def test_a_node_that_does_not_match_its_address_is_never_read(database: Database) -> None:
    node = {"digest": vector.address([1, 2, 3]), "data": b'{"leaf":[1,3,2]}'}
    insert = text("INSERT INTO lossless_node (namespace, digest, data) VALUES ('forged', :digest, :data)")
    database.write(lambda connection: connection.execute(insert, node))
    with pytest.raises(CorruptError, match="missing or changed"), database.read() as connection:
        vector.load(connection, "forged", node["digest"])


def test_a_view_survives_its_store(database: Database) -> None:
    segments: list[Segment] = [Raw(n, n, n, n + 1) for n in range(1, 300)]
    view = View((*segments, Tail(300, 300)))
    address = database.write(lambda connection: ViewStore().store(connection, "tenant", view))
    with database.read() as connection:
        assert ViewStore().load(connection, "tenant", address) == view
