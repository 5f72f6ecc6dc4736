"""Agents whose steps are stored as they happen, and whose prompts are the active context."""

from lossless_llamaindex.agent.codeact_agent import LosslessCodeActAgent
from lossless_llamaindex.agent.function_agent import LosslessFunctionAgent
from lossless_llamaindex.agent.react_agent import LosslessReActAgent

__all__ = ["LosslessCodeActAgent", "LosslessFunctionAgent", "LosslessReActAgent"]
