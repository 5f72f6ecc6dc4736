"""The DAG: views, heads, summaries and their lineage, and everything that makes one view from another."""

from lossless.dag.summaries import Summary
from lossless.dag.view import View

__all__ = ["Summary", "View"]
