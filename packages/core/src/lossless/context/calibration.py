"""Calibrating: how much of a budget is kept for counting errors, once a provider has said what contexts really cost."""

from __future__ import annotations

from lossless.locks import ForkLock
from lossless.store.calibration import add_report, reported
from lossless.store.connection import Database

__all__ = ["Calibration", "calibrated_margin"]

_ENOUGH = 2_000
"""Counted tokens from which on reports are believed."""
_LEAST, _MOST = 0.8, 2.0
"""The factor is bounded: one wrong report must neither overflow a window nor empty it."""
_SAFETY = 1.02


def calibrated_margin(margin: float, exact: bool, counted: int, prompt_tokens: int) -> float:
    """Give the share of a budget to keep free. Pure.

    Args:
        margin: what is kept without reports.
        exact: whether counting is exact for the model; then reports can only make the margin larger.
        counted: tokens that were counted, of all reports.
        prompt_tokens: tokens that the provider reported for them.
    """
    if counted < _ENOUGH:
        return margin
    factor = min(_MOST, max(_LEAST, prompt_tokens / counted))
    found = max(0.0, 1 - 1 / (_SAFETY * factor))
    return max(margin, found) if exact else max(0.01, found)


class Calibration:
    """The margin of one engine's model. Read once, when it is needed first; every report of this engine renews it."""

    def __init__(self, database: Database, namespace: str, model: str | None, margin: float, *, exact: bool) -> None:
        self._database = database
        self._namespace = namespace
        self._model = model or ""
        self._plain = margin
        self._exact = exact
        self._lock = ForkLock()
        self._margin: float | None = None

    @property
    def margin(self) -> float:
        """The share of a budget to keep free for what a count may be wrong by."""
        if self._margin is None:
            with self._database.read() as connection:
                self._set(*reported(connection, self._namespace, self._model))
        assert self._margin is not None
        return self._margin

    def report(self, counted: int, prompt_tokens: int) -> float:
        """Note what a provider reported for a context that was counted; give the margin from now on.

        A report of nothing is none, and each counts as at most so far from what was counted as the factor may be: one that is
        wrong must not outweigh all others.
        """
        if counted <= 0 or prompt_tokens <= 0:
            return self.margin
        prompt_tokens = int(min(max(prompt_tokens, _LEAST * counted), _MOST * counted))
        sums = self._database.write(
            lambda connection: add_report(connection, self._namespace, self._model, counted, prompt_tokens)
        )
        return self._set(*sums)

    def _set(self, counted: int, prompt_tokens: int) -> float:
        margin = calibrated_margin(self._plain, self._exact, counted, prompt_tokens)
        with self._lock:
            self._margin = margin
        return margin
