"""Room: dag."""
