"""Agents whose steps are stored as they happen, and whose prompts are the active context."""

from lossless_llamaindex.agent.function_agent import LosslessFunctionAgent

__all__ = ["LosslessFunctionAgent"]
