"""What SQLite's query planner is told about our tables.

Without statistics it takes every thread for ten rows long, and walks a thread from end to end where an index would find the one
row. It is therefore given the shape of a large database when the schema is made: what counts is only how many rows share a
prefix of a key. ``ANALYZE`` may replace this by the truth at any time.
"""

from __future__ import annotations

from sqlalchemy import Connection

__all__ = ["describe_tables"]

_ROWS, _THREAD = 1_000_000, 10_000  # of one namespace, of one thread

# For each table and index (a table without a rowid is its own): rows in all, then rows that share the first 1, 2, … key columns.
_SHAPES: tuple[tuple[str, str | None, tuple[int, ...]], ...] = (
    ("lossless_namespace", "lossless_namespace", (100, 1)),
    ("lossless_thread", "lossless_thread", (100, 100, 1)),
    ("lossless_thread", "lossless_thread_part", (50, 50, 5)),
    ("lossless_head", "lossless_head", (100, 100, 1)),
    ("lossless_head_log", "lossless_head_log", (50_000, 50_000, 500, 1)),
    ("lossless_head_log", "lossless_head_log_view", (50_000, 50_000, 1)),
    ("lossless_snapshot", "lossless_snapshot_view", (1_000, 1_000, 1)),
    ("lossless_snapshot", "lossless_snapshot", (1_000, 1_000, 10, 1)),
    ("lossless_blob", "sqlite_autoindex_lossless_blob_1", (_ROWS, _ROWS, 1)),
    ("lossless_node", "lossless_node", (50_000, 50_000, 1)),
    ("lossless_message", "lossless_message", (_ROWS, _ROWS, _THREAD, 1)),
    ("lossless_message", "lossless_message_id", (_ROWS, _ROWS, _THREAD, 1, 1)),
    ("lossless_message", "lossless_message_request", (_ROWS // 5, _ROWS // 5, _THREAD // 5, 1)),
    ("lossless_message", "lossless_message_unit", (_ROWS // 3, _ROWS // 3, _THREAD // 3, 1, 1)),
    ("lossless_message", "lossless_message_revises", (_ROWS // 100, _ROWS // 100, _THREAD // 100, 1)),
    ("lossless_summary", "lossless_summary", (50_000, 50_000, 500, 1)),
    ("lossless_summary", "lossless_summary_span", (50_000, 50_000, 500, 1)),
    ("lossless_summary_message", "lossless_summary_message", (_ROWS, _ROWS, _THREAD, 30, 1)),
    ("lossless_summary_message", "lossless_summary_message_seq", (_ROWS, _ROWS, _THREAD, 1, 1)),
    ("lossless_summary_child", "lossless_summary_child", (50_000, 50_000, 500, 5, 1)),
    ("lossless_summary_child", "lossless_summary_child_child", (50_000, 50_000, 500, 1, 1)),
    ("lossless_lease", "lossless_lease", (100, 100, 1, 1)),
    ("lossless_correction", "lossless_correction", (10_000, 10_000, 100, 1)),
    ("lossless_calibration", "lossless_calibration", (10, 10, 1)),
    ("lossless_spend", "lossless_spend", (10_000, 10_000, 100, 1)),
    ("lossless_spend", "lossless_spend_slot", (10_000, 10_000, 100)),
    ("lossless_erasure", "lossless_erasure", (1_000, 1_000, 1)),
    ("lossless_erasure", "lossless_erasure_pending", (10, 10)),
    ("lossless_tombstone", "lossless_tombstone", (10_000, 10_000, 100, 1)),
    ("lossless_checkpoint_pool", "lossless_checkpoint_pool", (100, 100, 1)),
    ("lossless_checkpoint_pool", "lossless_checkpoint_pool_shared", (100, 100, 1)),
    ("lossless_checkpoint_pool", "lossless_checkpoint_pool_strand", (100, 100, 1)),
    ("lossless_checkpoint_inherited", "lossless_checkpoint_inherited", (100, 100, 2, 1)),
    ("lossless_checkpoint_inherited", "lossless_checkpoint_inherited_strand", (100, 100, 2)),
    ("lossless_checkpoint_part", "sqlite_autoindex_lossless_checkpoint_part_1", (_ROWS, _ROWS, _THREAD, 1)),
    ("lossless_checkpoint_share", "lossless_checkpoint_share", (_ROWS, _ROWS, _THREAD, 1)),
    ("lossless_checkpoint", "sqlite_autoindex_lossless_checkpoint_1", (_ROWS, _ROWS, _THREAD, _THREAD // 10, 1)),
    ("lossless_checkpoint", "lossless_checkpoint_recent", (_ROWS, _ROWS, _THREAD, 1, 1)),
    ("lossless_checkpoint", "lossless_checkpoint_all", (_ROWS, _ROWS, 1, 1, 1)),
    ("lossless_checkpoint", "lossless_checkpoint_run", (_ROWS, _ROWS, 10)),
    ("lossless_checkpoint_write", "lossless_checkpoint_write", (_ROWS, _ROWS, _THREAD, _THREAD // 10, 3, 2, 1)),
    ("lossless_search_doc", "lossless_search_doc_message", (_ROWS, _ROWS, _THREAD, 1)),
)


def describe_tables(connection: Connection) -> None:
    """Tell SQLite's planner the shape of our tables; other databases find it out themselves."""
    if connection.dialect.name != "sqlite":
        return
    connection.exec_driver_sql("ANALYZE sqlite_schema")  # makes the table of statistics
    connection.exec_driver_sql("DELETE FROM sqlite_stat1 WHERE tbl LIKE 'lossless!_%' ESCAPE '!'")
    connection.exec_driver_sql(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
        [(table, index, " ".join(map(str, shape))) for table, index, shape in _SHAPES],
    )
    connection.exec_driver_sql("ANALYZE sqlite_schema")  # makes this connection read it
