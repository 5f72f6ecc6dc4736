"""Lossless context memory for langgraph."""

__all__: list[str] = []
