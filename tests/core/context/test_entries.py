"""What is kept in memory of summaries is bounded by its size, and changes nothing in what is shown."""

from __future__ import annotations

from lossless import Engine
from lossless.context.entries import SummaryCache
from lossless.store.keys import ThreadKey

LONG = "The pipeline wrote 4,711 rows to /srv/out/a.csv and then stopped with code E17. " * 4


def test_a_small_cache_of_summaries_forgets_and_gives_the_same() -> None:
    with Engine("sqlite://", window=6_000, background=False, load_plugins=False) as engine:
        thread = engine.thread("t")
        thread.append([{"role": "user", "content": f"{n}: {LONG}"} for n in range(120)], compact=False)
        ids = list(thread.compact().summaries)
        assert len(ids) > 3
        small, large = SummaryCache(keep_bytes=5_000), SummaryCache()
        key = ThreadKey(engine.namespace, "t")
        with engine.database.read() as connection:
            whole = large.get(connection, key, ids)
            for _round in range(2):
                assert {id: small.get(connection, key, [id])[id] for id in ids} == whole
            assert small.get(connection, key, ids) == whole
        kept = [shown for cache in (small, large) for shown in cache._recent.values()]
        assert 0 < small._bytes <= 5_000 or len(small._recent) == 1
        assert len(large._recent) == len(ids)
        assert not any(shown.summary.items for shown in kept), "source items are the most of a summary, and are not shown"
        small.forget()
        assert (small._bytes, len(small._recent)) == (0, 0)
