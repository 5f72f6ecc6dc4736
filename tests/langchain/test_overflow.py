"""Which errors of providers say that a context was too long."""

from __future__ import annotations

import pytest

from lossless_langchain.middleware.sizes import is_overflow

TEXTS = [
    "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "400 The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "An error occurred (ValidationException) when calling the Converse operation: Input is too long for requested model.",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    "Please reduce the length of the messages or completion.",
    "Requested tokens (5000) exceed context window of 4096",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
]
LATER = [
    "An error occurred (ThrottlingException) when calling Converse: Too many tokens, please wait before trying again.",
    "Error code: 429 - Rate limit reached: the input exceeds the limit of 30000 input tokens per minute.",
    "429 Resource exhausted: quota exceeds the limit of tokens, please retry later.",
    "Too many tokens per day for your quota, please wait.",
]


class BadRequestError(Exception):
    pass


class RateLimitError(Exception):
    pass


@pytest.mark.parametrize("text", TEXTS)
def test_a_refusal_for_length_is_known_by_its_words(text: str) -> None:
    assert is_overflow(BadRequestError(text))
    assert not is_overflow(RateLimitError(text))


@pytest.mark.parametrize("text", LATER)
def test_a_request_that_shall_wait_is_not_taken_for_too_long(text: str) -> None:
    assert not is_overflow(BadRequestError(text))


def test_the_status_of_an_error_tells_that_it_is_of_rates() -> None:
    error = BadRequestError(TEXTS[0])
    error.status_code = 429  # type: ignore[attr-defined]
    assert not is_overflow(error)


@pytest.mark.parametrize(
    "text", ["invalid schema for function", "rate limit reached on tokens per min", "", "max_tokens must be positive"]
)
def test_other_errors_are_not_taken_for_one(text: str) -> None:
    assert not is_overflow(BadRequestError(text))
