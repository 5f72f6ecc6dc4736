"""Lossless."""
