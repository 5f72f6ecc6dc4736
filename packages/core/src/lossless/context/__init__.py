"""Room: context."""
