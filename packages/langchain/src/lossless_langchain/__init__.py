"""Lossless context memory for langchain."""

__all__: list[str] = []
