"""What calls to models cost, from their tokens and the prices in the table of models. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lossless.policies.model import Usage
from lossless.tokens.models import ModelInfo, find_model

__all__ = ["planned_cost", "priced"]

_MILLION = 1_000_000


def priced(usage: Usage, model: str, known: Iterable[ModelInfo]) -> Usage:
    """Give a usage with its cost: what the provider said, else by the model's prices, else none."""
    if usage.cost is not None or not model:
        return usage
    info = find_model(model, known)
    if info is None or info.input_price is None or info.output_price is None:
        return usage
    return replace(usage, cost=_cost(info, usage.input_tokens, usage.cached_tokens, usage.output_tokens))


def planned_cost(models: Sequence[str], input_tokens: int, output_tokens: int, known: Sequence[ModelInfo]) -> float | None:
    """Give what a call may cost at the most, whichever of the models answers; None where the price of one is not known."""
    costs: list[float] = []
    for model in models:
        info = find_model(model, known)
        if info is None or info.input_price is None or info.output_price is None:
            return None
        costs.append(_cost(info, input_tokens, 0, output_tokens))
    return max(costs, default=None)


def _cost(info: ModelInfo, read: int, cached: int, written: int) -> float:
    input_price, output_price = info.input_price or 0.0, info.output_price or 0.0
    cached_price = input_price if info.cached_price is None else info.cached_price
    return ((read - cached) * input_price + cached * cached_price + written * output_price) / _MILLION
