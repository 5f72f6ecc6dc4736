"""Provider profiles: the rules a history must meet before a provider takes it, and the record of what was done to meet them.

Sources: the providers' API references and the errors that their users report. A rule is here because breaking it makes every
later request of the conversation fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from lossless.errors import ConfigError

__all__ = ["ANTHROPIC", "GEMINI", "OPENAI", "PROFILES", "Profile", "Repair", "find_profile", "rules_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules of one provider.

    Some hold for all of them and have no switch: each call has its one result directly after it, in the order of the calls; each
    result has its call; results come first in their message; call ids are unique in the whole history; no message and no text is
    blank; reasoning never comes last.

    Attributes:
        name: ``openai``, ``anthropic`` or ``gemini``.
        user_first: the first message that is not the system's is the user's.
        alternate: two messages of one role never follow each other (results and what the user says after them may).
        system_anywhere: a system message may stand later than at the start.
        results_alone: a message with results holds nothing else.
        empty_results: a tool may answer with nothing.
        blank_beside_calls: an assistant's content may be a blank string when it makes calls.
        signed_reasoning: reasoning without a signature is refused.
        check_images: the bytes of an image must be what its media type says.
        image_types: media types of images that are accepted, if they are checked.
        max_image_bytes: size of the largest image, in bytes before base64.
        id_rule: what a call id must match as a whole.
        max_id: length of the longest call id, in characters.
    """

    name: str
    user_first: bool = True
    alternate: bool = True
    system_anywhere: bool = False
    results_alone: bool = False
    empty_results: bool = False
    blank_beside_calls: bool = False
    signed_reasoning: bool = False
    check_images: bool = False
    image_types: frozenset[str] = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
    max_image_bytes: int = 5 * 1024 * 1024
    id_rule: re.Pattern[str] = re.compile(r"[a-zA-Z0-9_-]{1,64}")
    max_id: int = 64


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was done to make a history valid.

    Attributes:
        kind: within a message ``blank_text``, ``empty_message``, ``empty_result``, ``unfit_image``, ``image_label``,
            ``opaque_value``, ``reasoning``, ``misplaced_call``, ``unnamed_call``; between calls and results ``orphan_result``,
            ``duplicate_result``, ``moved_result``, ``results_apart``, ``found_result``, ``missing_result``, ``renamed_call``;
            among roles ``system_note``, ``merged``, ``opening_line``.
        origin: id of the message it was done to.
        detail: what exactly, in words.
    """

    kind: str
    origin: str
    detail: str


OPENAI = Profile(
    name="openai",
    user_first=False,
    alternate=False,
    system_anywhere=True,
    empty_results=True,
    blank_beside_calls=True,
    id_rule=re.compile(r"[\s\S]{1,40}"),
    max_id=40,
)
ANTHROPIC = Profile(name="anthropic", signed_reasoning=True, check_images=True)
GEMINI = Profile(name="gemini", results_alone=True)

PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in (OPENAI, ANTHROPIC, GEMINI)})


def find_profile(name: str) -> Profile:
    """Give the profile of that name.

    Raises:
        ConfigError: there is none.
    """
    found = PROFILES.get(name)
    if found is None:
        raise ConfigError(f"unknown provider profile {name!r}", hint=f"one of {', '.join(PROFILES)}")
    return found


def rules_for(format: str, profile: str | None = None) -> Profile:
    """Give the rules for messages written in a format: those of the profile that is named, else the format's own.

    LangChain's chat models merge neighbours of one role themselves, where their API wants it. LangChain and LlamaIndex name no
    provider: without a profile, OpenAI's rules stand.

    Raises:
        ConfigError: there is no profile of that name.
    """
    base = format.partition("/")[0]
    found = find_profile(profile or ("openai" if base in ("langchain", "llamaindex") else base))
    return replace(found, alternate=False) if base == "langchain" else found
