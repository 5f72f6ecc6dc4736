"""Redaction of secrets before a message is stored: a plugin, not there unless it is asked for.

What is looked for are the patterns of detect-secrets: keys and tokens of well-known services, private keys, passwords in URLs,
and what is assigned to names such as ``password``. High entropy alone is no reason: ids, digests and images have it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lossless.errors import ConfigError
from lossless.hooks import hookimpl
from lossless.messages.redacted import marker

__all__ = ["SecretRedactor"]

# Those of Cloudant, IBM Cloud and SoftLayer are left out: for a line of spaces they take minutes.
_DETECTORS = (
    ("aws", "AWSKeyDetector"), ("azure_storage_key", "AzureStorageKeyDetector"), ("basic_auth", "BasicAuthDetector"),
    ("discord", "DiscordBotTokenDetector"), ("github_token", "GitHubTokenDetector"), ("gitlab_token", "GitLabTokenDetector"),
    ("jwt", "JwtTokenDetector"), ("mailchimp", "MailchimpDetector"), ("npm", "NpmDetector"), ("openai", "OpenAIDetector"),
    ("pypi_token", "PypiTokenDetector"), ("sendgrid", "SendGridDetector"), ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"), ("stripe", "StripeDetector"), ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)  # fmt: skip
_PRIVATE = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_MORE = {
    "private key": rf"-----BEGIN {_PRIVATE}-----.*?(?:-----END {_PRIVATE}-----|\Z)",
    "api key": r"\bsk-(?:[a-z]+[0-9]*-){0,2}[A-Za-z0-9_-]{20,}",
    "github token": r"\bgithub_pat_[A-Za-z0-9_]{22,}",
    "google api key": r"\bAIza[0-9A-Za-z_-]{35}",
    "bearer token": r"(?i:\bbearer[ \t]+)([A-Za-z0-9._~+/=-]{16,})",
}
_LEFT_ALONE = frozenset({"tool_call_id", "tool_use_id", "call_id", "signature", "encrypted_content"})
"""Keys whose values say what belongs together, or are signed."""
_REST = re.compile(r"(?:[A-Za-z0-9_\-/+=~]|\.(?=[A-Za-z0-9]))*")
"""What a pattern may leave of a token."""
_SHORTEST = 4
_WINDOW, _OVERLAP = 2_048, 512


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What a secret of a kind looks like; the longest group is the secret, without one all that matches.

    ``windows``: whether it is looked for in a window at a time, because its time may grow with the square of the text.
    """

    kind: str
    regex: re.Pattern[str]
    windows: bool = False

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Give where the secrets of a text are."""
        starts = range(0, max(1, len(text) - _OVERLAP), _WINDOW - _OVERLAP) if self.windows else (0,)
        for begin in starts:
            for match in self.regex.finditer(text[begin : begin + _WINDOW] if self.windows else text):
                start, end = _secret_in(match)
                yield begin + start, begin + end


class SecretRedactor:
    """Replaces secrets in messages by marks such as ``[redacted: github-token]`` before they are stored.

    Register it with ``Engine(plugins=[SecretRedactor()])``; it needs ``lossless[redact]``.

    Args:
        patterns: more to look for: regular expressions by kind. Where one has groups, the longest one is the secret.

    Raises:
        ConfigError: the package ``detect-secrets`` is not installed, or a pattern can't be read.
    """

    def __init__(self, patterns: Mapping[str, str] | None = None) -> None:
        self._patterns = [*_own_patterns(patterns or {}), *_known_patterns()]

    @hookimpl
    def lossless_redact(self, message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Give the message without its secrets, or None where there are none."""
        found = self._without(message)
        return None if found == message else found

    def redacted(self, text: str) -> str:
        """Give a text without its secrets."""
        for start, end, kind in reversed(list(_apart(self._spans(text)))):
            text = text[:start] + marker(kind) + text[end:]
        return text

    def _without(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if value.startswith("data:") else self.redacted(value)
        if isinstance(value, Mapping):
            found = {key: each if _is_left_alone(key, value) else self._without(each) for key, each in value.items()}
            # A reasoning block is signed as it is; changed, no provider takes it back.
            if value.get("type") in ("thinking", "reasoning") and found != value:
                return {"type": "text", "text": " ".join(dict.fromkeys(_marks(found)))}
            return found
        if type(value) in (list, tuple):
            return type(value)([self._without(each) for each in value])
        return value

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        if len(text) < _SHORTEST:
            return
        for pattern in self._patterns:
            done = 0
            for start, end in pattern.spans(text):
                if done <= start < end and not text.startswith("[redacted: ", start):
                    done = _REST.match(text, end).end()  # type: ignore[union-attr]
                    yield start, done, pattern.kind


def _is_left_alone(key: str, holder: Mapping[str, Any]) -> bool:
    if not isinstance(holder[key], str):
        return False
    if key == "id":
        return not holder.keys().isdisjoint(("role", "type", "function"))
    if key == "data":
        return not holder.keys().isdisjoint(("media_type", "mime_type", "format"))
    return key in _LEFT_ALONE


def _secret_in(match: re.Match[str]) -> tuple[int, int]:
    """Give where the secret is: in the longest group, unless that is only a part of it."""
    groups = [match.span(number) for number in range(1, (match.re.groups or 0) + 1) if match.start(number) >= 0]
    start, end = max(groups, key=lambda span: span[1] - span[0], default=match.span())
    return (start, end) if end - start >= _SHORTEST else match.span()


def _apart(spans: Iterator[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Join spans that overlap; the one that begins first says of which kind they are."""
    joined: tuple[int, int, str] | None = None
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if joined is not None and start < joined[1]:
            joined = (joined[0], max(joined[1], end), joined[2])
            continue
        if joined is not None:
            yield joined
        joined = (start, end, kind)
    if joined is not None:
        yield joined


def _marks(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from re.findall(r"\[redacted: [a-z0-9-]+\]", value)
    elif isinstance(value, (Mapping, list, tuple)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _marks(each)


def _own_patterns(patterns: Mapping[str, str]) -> Iterator[_Pattern]:
    for kind, expression in patterns.items():
        try:
            yield _Pattern(kind, re.compile(expression))
        except re.error as error:
            raise ConfigError(f"the pattern for {kind!r} can't be read: {error}", hint="check brackets and escapes") from None


def _known_patterns() -> Iterator[_Pattern]:
    try:
        detectors = [getattr(import_module(f"detect_secrets.plugins.{module}"), name) for module, name in _DETECTORS]
        words = import_module("detect_secrets.plugins.keyword").DENYLIST
    except ImportError:
        raise ConfigError("SecretRedactor needs the package detect-secrets", hint='pip install "lossless[redact]"') from None
    for detector in detectors:
        yield from (_Pattern(detector.secret_type, expression, windows=True) for expression in detector.denylist)
    for kind, expression in _MORE.items():
        yield _Pattern(kind, re.compile(expression, re.DOTALL))
    named = rf"(?:{'|'.join(words)})\w{{0,40}}"
    quoted = rf"(?i){named}[\]'\"]{{0,2}}[ \t]{{0,8}}(?::=|=>|={{1,3}}|!==?|:)[ \t]{{0,8}}@?([\"'`])((?:(?!\1)[^\n]){{4,500}})\1"
    plain = rf"(?i){named}=([^\s\"'`,;&<>]{{4,500}})"
    for expression in (quoted, plain):
        yield _Pattern("secret keyword", re.compile(expression))
