"""Benchmarks: what "fast" means for this library, measured beside a control in the same run.

``uv run python -m benchmarks`` runs them all; ``--help`` says what else it takes. One module is one benchmark.
"""
