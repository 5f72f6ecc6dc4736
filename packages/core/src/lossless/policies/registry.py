"""The policies that ship, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lossless.errors import ConfigError
from lossless.policies.controls import Blank, Lossy, Pointer
from lossless.policies.model import Policy
from lossless.policies.source_first import SourceFirst

if TYPE_CHECKING:
    from lossless.tokens.counter import TokenCounter

__all__ = ["builtin_policies", "checked_policy", "get"]

_POLICIES = {policy.name: policy for policy in (SourceFirst, Blank, Lossy, Pointer)}


def get(name: str, **options: Any) -> Policy:
    """Give the policy of a name.

    Args:
        name: ``source_first``, or a control: ``blank``, ``lossy``, ``pointer``.
        options: ``counter``, what budgets are counted with; the default counter where it is not given.

    Raises:
        ConfigError: there is no policy of that name, or it has no such option; the hint names those that exist.
    """
    policy = _POLICIES.get(name)
    if policy is None:
        raise ConfigError(f"there is no policy {name!r}", hint=f"there are: {', '.join(sorted(_POLICIES))}")
    unknown = sorted(set(options) - {"counter"})
    if unknown:
        raise ConfigError(f"the policy {name!r} has no option {unknown[0]!r}", hint="its options are: counter")
    return policy(options.get("counter") or _default_counter())


def builtin_policies(counter: TokenCounter) -> dict[str, Policy]:
    """Give all policies that ship, by name, counting with ``counter``."""
    return {name: policy(counter) for name, policy in _POLICIES.items()}


def checked_policy(policy: Policy) -> Policy:
    """Give a user's policy, if it is one.

    Raises:
        ConfigError: it has no name or can't write, or it is a class.
    """
    name = getattr(policy, "name", None)
    if isinstance(policy, type) or not (isinstance(name, str) and name and callable(getattr(policy, "write", None))):
        raise ConfigError(
            f"a {type(policy).__name__} is no policy", hint="give a name, or an object with a name and the method write"
        )
    return policy


def _default_counter() -> TokenCounter:
    from lossless.tokens import counter_for

    return counter_for()
