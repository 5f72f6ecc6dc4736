"""Room: tokens."""
