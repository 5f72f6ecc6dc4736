"""Room: compaction."""
