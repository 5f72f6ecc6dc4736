"""Lossless context memory for llamaindex."""

__all__: list[str] = []
