"""Room: hooks."""
