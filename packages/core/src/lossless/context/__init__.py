"""The active context: the view rendered for one model call within a budget."""

from lossless.context.budget import Budget, Limits
from lossless.context.model import ActiveContext, ContextItem

__all__ = ["ActiveContext", "Budget", "ContextItem", "Limits"]
