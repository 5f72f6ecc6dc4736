"""Summarizers: those that call a model, how any is called, what it costs, and when it is left alone."""

from lossless.summarizers.breaker import BreakerRules

__all__ = ["BreakerRules"]
