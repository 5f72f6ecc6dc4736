"""A summarizer behind an OpenAI-compatible chat completions API, by the ``openai`` package (``lossless[openai]``)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from lossless.errors import ConfigError
from lossless.policies.model import Answer, SummarizeRequest, Usage
from lossless.summarizers.calling import SummarizerError
from lossless.summarizers.permission import announce_call
from lossless.summarizers.retrying import retry_after_of, wait_before
from lossless.twins import async_twin

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAISummarizer"]

_RETRIED = frozenset({408, 409, 425, 429})
_LONGEST_MESSAGE = 200


class OpenAISummarizer:
    """Writes summaries with a model behind OpenAI's chat completions API, or behind any server that speaks it.

    The instructions are the system message and come first, the same bytes for every call of a level, so that a provider can cache
    them. A call that failed in a way that passes (408, 409, 425, 429, 5xx, a connection lost, an answer that can't be read) is
    made again, not before the server wants it (``Retry-After``) and not beyond ``SummarizeRequest.seconds``.

    Args:
        model: name of the model.
        base_url: of another server than OpenAI's, such as ``http://localhost:8080/v1``.
        api_key: None: ``$OPENAI_API_KEY``; a server of your own may need none.
        timeout: seconds for one attempt.
        attempts: how often a call is made at the most.
        reasoning_tokens: room for a model's reasoning, beside twice what the summary may have.
        options: more arguments of the API, such as ``{"temperature": 0.2}`` or ``{"reasoning_effort": "low"}``.
        client: an ``openai.OpenAI`` of your own, instead of address and key.
        sleep: waits for seconds.
        chance: gives a random number from 0 to 1.

    Raises:
        ConfigError: the ``openai`` package is not installed, or there is no key.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        attempts: int = 3,
        reasoning_tokens: int = 0,
        options: Mapping[str, Any] | None = None,
        client: OpenAI | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if attempts < 1 or timeout <= 0:
            raise ConfigError(f"{attempts} attempts of {timeout:g} s make no call", hint="attempts >= 1 and timeout > 0")
        self.model = model
        self.models = (model,)
        self._client = client if client is not None else _client(base_url, api_key)
        self._is_openai = base_url is None and client is None
        self.route = f"openai:{model}" if self._is_openai else f"openai:{model}@{urlsplit(str(self._client.base_url)).netloc}"
        self._timeout = timeout
        self._attempts = attempts
        self._reasoning_tokens = reasoning_tokens
        self._options = dict(options or {})
        self._sleep = sleep
        self._chance = chance

    def summarize(self, request: SummarizeRequest) -> Answer:
        """Write a summary; the answer says what it took.

        Raises:
            SummarizerError: the server could not be reached or refused, the model refused or was cut off, in time or at all.
        """
        deadline = time.monotonic() + request.seconds
        for attempt in range(1, self._attempts + 1):
            try:
                return self._answer(self._ask(request, min(self._timeout, deadline - time.monotonic())))
            except Exception as error:
                wait = self._wait(error, attempt, deadline - time.monotonic())
                if wait is None:
                    self._fail(error, attempt)
                self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    asummarize = async_twin(summarize)

    def __call__(self, request: SummarizeRequest, /) -> Answer:
        """Write a summary, as ``summarize``."""
        return self.summarize(request)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _ask(self, request: SummarizeRequest, seconds: float) -> Any:
        # OpenAI's newer models know only the newer name; many other servers only the older one.
        limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        arguments = {limit: 2 * request.target_tokens + self._reasoning_tokens, **self._options}
        announce_call(self.model, str(self._client.base_url))
        return self._client.with_options(max_retries=0, timeout=max(0.001, seconds)).chat.completions.create(
            model=self.model, messages=_messages(request), stream=False, **arguments
        )

    def _answer(self, response: Any) -> Answer:
        usage = _usage(response)
        choices = getattr(response, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise SummarizerError("the answer holds no choice", usage=usage)
        message, reason = choices[0].message, choices[0].finish_reason
        if message is None or getattr(message, "refusal", None):
            raise SummarizerError("the model refused", usage=usage)
        if reason in ("length", "content_filter"):
            raise SummarizerError(f"the answer was cut off ({reason})", usage=usage)
        if not isinstance(message.content, str) or not message.content.strip():
            raise SummarizerError("the answer is blank", usage=usage)
        return Answer(text=message.content, model=self.model, usage=usage)

    def _wait(self, error: Exception, attempt: int, left: float) -> float | None:
        """Give the seconds to wait before another attempt, or None where there is to be none."""
        import openai

        retry_after = None
        if isinstance(error, openai.APIStatusError):
            if error.status_code not in _RETRIED and error.status_code < 500:
                return None
            retry_after = retry_after_of(error.response.headers)
        elif isinstance(error, SummarizerError) or not isinstance(error, (openai.APIError, ValueError)):
            return None
        if attempt >= self._attempts:
            return None
        return wait_before(attempt, left, retry_after=retry_after, chance=self._chance())

    def _fail(self, error: Exception, attempts: int) -> NoReturn:
        """Say what went wrong, in words that hold no key."""
        import openai

        if isinstance(error, SummarizerError):
            raise error
        what = type(error).__name__
        if isinstance(error, openai.APIStatusError):
            what = f"{what} {error.status_code}"
        said = "" if isinstance(error, (openai.AuthenticationError, openai.PermissionDeniedError)) else f": {error}"
        said = " ".join(said.replace(self._client.api_key or "\0", "…").split())[:_LONGEST_MESSAGE]
        raise SummarizerError(f"{what}{said} (attempt {attempts})", late=isinstance(error, openai.APITimeoutError)) from None


def _client(base_url: str | None, api_key: str | None) -> OpenAI:
    try:
        import openai
    except ImportError as error:
        raise ConfigError("OpenAISummarizer needs the openai package", hint='pip install "lossless[openai]"') from error
    try:
        return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
    except openai.OpenAIError:
        if base_url is None:
            raise ConfigError("there is no key for OpenAI", hint="give api_key=, or set $OPENAI_API_KEY") from None
        return openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)


def _messages(request: SummarizeRequest) -> list[Any]:
    told = request.text
    if request.previous:
        before = f"--- summary of what came before, {request.mark}: for continuity, don't repeat it ---"
        told = f"{before}\n{request.previous}\n{told}"
    return [{"role": "system", "content": request.instructions}, {"role": "user", "content": told}]


def _usage(response: Any) -> Usage | None:
    """Read what a provider reports; what it leaves out, or reports in another shape, counts as not reported."""
    told = getattr(response, "usage", None)
    read, written = getattr(told, "prompt_tokens", None), getattr(told, "completion_tokens", None)
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    cached = getattr(getattr(told, "prompt_tokens_details", None), "cached_tokens", None)
    cost = getattr(told, "cost", None)  # some routers of many providers tell it
    return Usage(
        calls=1,
        input_tokens=read,
        cached_tokens=min(cached, read) if isinstance(cached, int) else 0,
        output_tokens=written,
        cost=float(cost) if isinstance(cost, (int, float)) and cost >= 0 else None,
    )
