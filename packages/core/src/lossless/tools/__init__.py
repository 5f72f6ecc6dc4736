"""Recall tools: what a model calls to look into its past, without any framework."""

from lossless.tools.recall import recall_tools
from lossless.tools.tool import RecallTool

__all__ = ["RecallTool", "recall_tools"]
