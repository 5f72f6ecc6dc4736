"""Databases that are made at the same time, one by many and many by one process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lossless


def begin(url: str) -> bool:
    with lossless.Engine(url, load_plugins=False) as engine:
        engine.thread("t").append({"role": "user", "content": url})
        return engine.verify("t").ok


def test_one_database_is_made_by_whoever_comes_first(tmp_path: Path) -> None:
    for number in range(5):
        with ThreadPoolExecutor(12) as pool:
            assert all(pool.map(begin, [f"sqlite:///{tmp_path}/{number}.db"] * 12))


def test_several_databases_are_made_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(begin, [f"sqlite:///{tmp_path}/{number}.db" for number in range(24)]))
