"""Repairs within one turn: blank texts, unfit images, reasoning out of place, calls that are not the assistant's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lossless.messages.formats import Turn
from lossless.messages.images import right_label, unfit
from lossless.messages.notes import media_note
from lossless.messages.parts import Call, Media, Opaque, Part, Reasoning, Result, Text
from lossless.messages.profiles import Profile, Repair
from lossless.messages.units import is_blank

__all__ = ["clean", "clean_result", "end_well", "without_reasoning"]

_NO_OUTPUT = "(no output)"


def clean(turn: Turn, profile: Profile, repairs: list[Repair]) -> Turn | None:
    """Give the turn as a provider takes it by itself: the same object if nothing was wrong, None if nothing is left of it."""
    kept: list[Part] = []
    changed = False
    for part in turn.parts:
        good = _clean_part(part, turn, profile, repairs)
        changed = changed or good is not part
        if good is not None:
            kept.append(good)
    if not kept:
        repairs.append(Repair("empty_message", turn.origin, "withheld: nothing in it can be shown"))
        return None
    return replace(turn, parts=tuple(kept), payload=None, shape=None) if changed else turn


def end_well(turn: Turn, repairs: list[Repair]) -> Turn | None:
    """Take away reasoning that nothing follows, which providers refuse; None if the turn was nothing else."""
    end = len(turn.parts)
    while end and isinstance(turn.parts[end - 1], Reasoning):
        end -= 1
    if end == len(turn.parts):
        return turn
    repairs.append(Repair("reasoning", turn.origin, "withheld: nothing follows it in its message"))
    return replace(turn, parts=turn.parts[:end], payload=None, shape=None) if end else None


def without_reasoning(turn: Turn) -> Turn | None:
    """Give the turn without its reasoning: the same object if it has none, None if it is nothing else."""
    kept = tuple(part for part in turn.parts if not isinstance(part, Reasoning))
    if len(kept) == len(turn.parts):
        return turn
    return replace(turn, parts=kept, payload=None, shape=None) if kept else None


def clean_result(result: Result, origin: str, profile: Profile, repairs: list[Repair]) -> Result:
    """Give a result as a provider takes it: the same object if nothing was wrong."""
    kept: list[Text | Media | Opaque] = []
    changed = blank = False
    for part in result.parts:
        good: Text | Media | Opaque | None = part
        if isinstance(part, Text):
            # A blank string is fine where a tool may answer with nothing; a blank block is not.
            alone = profile.empty_results and part.block is None and len(result.parts) == 1
            good = part if alone or not is_blank(part.text) else None
            blank = blank or good is None
        else:
            good = _clean_content(part, origin, profile, repairs)
        changed = changed or good is not part
        if good is not None:
            kept.append(good)
    if not kept and not profile.empty_results:
        repairs.append(Repair("empty_result", origin, f"shown as {_NO_OUTPUT}"))
        return replace(result, parts=(Text(_NO_OUTPUT),), block=None)
    if not changed:
        return result
    if blank:
        repairs.append(Repair("blank_text", origin, f"withheld from the result of {result.call_id}"))
    return replace(result, parts=tuple(kept), block=None)


def _clean_part(part: Part, turn: Turn, profile: Profile, repairs: list[Repair]) -> Part | None:
    if isinstance(part, Text):
        if not is_blank(part.text):
            return part
        stands = turn.payload is not None and part.block is None and turn.role == "assistant"
        if profile.blank_beside_calls and stands and any(isinstance(other, Call) for other in turn.parts):
            return part
        repairs.append(Repair("blank_text", turn.origin, "withheld"))
        return None
    if isinstance(part, Result):
        return clean_result(part, turn.origin, profile, repairs)
    if isinstance(part, Call):
        return _clean_call(part, turn, repairs)
    if isinstance(part, Reasoning):
        if turn.role == "assistant" and (part.signed or not profile.signed_reasoning):
            return part
        repairs.append(Repair("reasoning", turn.origin, "withheld: not signed, or not the assistant's"))
        return None
    return _clean_content(part, turn.origin, profile, repairs)


def _clean_call(call: Call, turn: Turn, repairs: list[Repair]) -> Call | None:
    if turn.role != "assistant":
        repairs.append(Repair("misplaced_call", turn.origin, f"withheld: {call.id} is no call of the assistant's"))
        return None
    if call.name:
        return call
    repairs.append(Repair("unnamed_call", turn.origin, f"{call.id} has no name"))
    return replace(call, name="unnamed")


def _clean_content(part: Media | Opaque, origin: str, profile: Profile, repairs: list[Repair]) -> Media | Opaque | Text:
    if isinstance(part, Opaque):
        if isinstance(part.value, Mapping):
            return part
        repairs.append(Repair("opaque_value", origin, "shown as text: it is no block"))
        return Text(part.text)
    if not profile.check_images:
        return part
    label = right_label(part)
    if label is not None:
        repairs.append(Repair("image_label", origin, f"{part.mime or 'no type'} shown as {label}"))
        part = replace(part, mime=label, block=None)
    why = unfit(part, profile)
    if why is None:
        return part
    repairs.append(Repair("unfit_image", origin, why))
    return Text(media_note(part, origin, why))
