"""What images and documents cost, by the rules of the provider that the model is of.

Sources, as of 2026: OpenAI's guide "Images and vision" (tiles, patches, their multipliers), Anthropic's "Vision" and "PDF
support", Google's "Understand and count tokens" and "Media resolution" of the Gemini API. Where a rule has changed, or bills were
seen that are higher than the documentation says, the dearer reading is taken. Sound and video go by duration, which is not known
without decoding; the size of their data stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from math import ceil

from lossless.messages.dimensions import image_size, pdf_pages
from lossless.messages.parts import Media, Part, Result
from lossless.tokens.models import bare_names

__all__ = ["DEAREST", "MediaRates", "is_measured", "media_tokens", "rates_for"]

Size = tuple[int, int]

_SOUND, _VIDEO = 128, 121
"""Bytes a token: Gemini has 32 tokens for a second of sound and 263 for one of video; 4 kB and 32 kB stand for a second."""
_LEAST = 1_600
"""What sound, video and anything else of unknown price cost at the least."""
_DOCUMENT = 16
"""Bytes a token of a document whose pages can't be counted: at 3 000 tokens a page, 48 kB for a page."""
_TEXT_DIVISOR = (
    2  # a document that is text: 1.5 bytes a token (the densest JSON has 1.9), and base64 has 4 characters for 3 bytes
)
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml")
_PAGES = 1_000
"""More pages are refused (Gemini: 1 000; OpenAI and Anthropic: 100 to 600 by model)."""
_PAGES_ELSEWHERE = 5
"""A guess: pages of a document that the message only refers to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRates:
    """What a model charges for images and documents.

    Attributes:
        name: whose rule it is.
        image: gives the tokens of an image by its size in pixels, or the most that one can cost where the size is None; and by
            the detail that is asked for: ``low``, ``high``, ``original``, or anything else for the provider's own choice.
        page: tokens of a page of a PDF.
    """

    name: str
    image: Callable[[Size | None, str], int]
    page: int


def media_tokens(media: Media, rates: MediaRates | None = None) -> int:
    """Give the tokens of an image, sound, video or document.

    An image costs by its size, which is read from its data; one that is only referred to costs the most that its provider takes.
    A PDF costs by its pages, 5 of them where it is only referred to. A document that is text costs no less than its text. Sound,
    video and other documents cost by the size of their data, 1 600 at the least.
    """
    rates = rates or DEAREST
    match media.kind:
        case "image":
            return rates.image(image_size(media), (media.detail or "").lower())
        case "document":
            return _document(media, rates)
        case "audio" | "video":
            rate = _SOUND if media.kind == "audio" else _VIDEO
            return max(_LEAST, len(media.data or "") * 3 // 4 // rate)
        case _:
            return _LEAST


def is_measured(parts: Iterable[Part]) -> bool:
    """Tell whether what a message's media cost follows from their data; else it is an estimate."""
    for part in parts:
        if isinstance(part, Media) and image_size(part) is None:
            return False
        if isinstance(part, Result) and not is_measured(part.parts):
            return False
    return True


def rates_for(model: str | None) -> MediaRates:
    """Give the rates of a model, by its name; of one that is not known, or of none, :data:`DEAREST`."""
    for name in bare_names(model) if model else ():
        for pattern, rates in _FAMILIES:
            if pattern.match(name):
                return rates
    return DEAREST


def _document(media: Media, rates: MediaRates) -> int:
    if media.data is None:
        return _PAGES_ELSEWHERE * rates.page
    if (media.mime or "").lower().startswith(_TEXT_TYPES):
        return max(_LEAST, len(media.data) // _TEXT_DIVISOR)
    pages = pdf_pages(media)
    if pages is not None:
        return min(pages, _PAGES) * rates.page
    return max(_LEAST, len(media.data) * 3 // 4 // _DOCUMENT)


def _within(size: Size, longest: float) -> tuple[float, float]:
    """Scale down until no side is longer."""
    scale = min(1.0, longest / max(size))
    return size[0] * scale, size[1] * scale


def _tiles(size: Size | None, detail: str, *, base: int, tile: int) -> int:
    """Count by OpenAI's tiles: within 2 048 square, the shorter side at most 768, then 512 square tiles; 8 at the most."""
    if detail == "low":
        return base
    if size is None:
        return base + 8 * tile
    width, height = _within(size, 2_048)
    scale = min(1.0, 768 / min(width, height))
    return base + tile * ceil(width * scale / 512) * ceil(height * scale / 512)


def _patches(
    size: Size | None,
    detail: str,
    *,
    factor: float,
    high: tuple[int, int] = (2_048, 1_536),
    original: tuple[int, int] | None = None,
    by_itself: str = "high",
) -> int:
    """Count by OpenAI's patches of 32 pixels square, of the longest side and the number of patches that are kept.

    An image of more patches is scaled down until it has no more; it was seen to be billed in full for what it may have, so that
    is taken (documented for 1 800 x 2 400 of 1 536: 1 452). Models without ``original`` ignore the detail.
    """
    longest, budget = high
    if original is not None:
        chosen = detail if detail in ("low", "high", "original") else by_itself
        longest, budget = {"low": (512, 256), "original": original}.get(chosen, high)
    if size is None:
        return ceil(budget * factor)
    width, height = _within(size, longest)
    return ceil(min(budget, ceil(width / 32) * ceil(height / 32)) * factor)


def _anthropic(size: Size | None, _detail: str, *, longest: int, most: int) -> int:
    """Count by Anthropic: width x height / 750 after scaling down, or patches of 28 pixels square, as it says later."""
    if size is None:
        return most
    width, height = _within(size, longest)
    return min(most, max(ceil(width * height / 750), ceil(width / 28) * ceil(height / 28)))


def _gemini_tiles(size: Size | None, _detail: str) -> int:
    """Count by Gemini up to 2.5: 258 up to 384 pixels a side, else 258 a tile.

    Two documented rules, and the more tiles of the two: tiles of 768 pixels square, of an image within 3 072 square; and tiles
    whose side is two thirds of the shorter side, at most 768.
    """
    if size is None:
        return 16 * 258
    if max(size) <= 384:
        return 258
    width, height = _within(size, 3_072)
    unit = max(1, min(768, int(min(width, height) / 1.5)))
    tiles = max(ceil(width / side) * ceil(height / side) for side in (unit, 768))
    return min(16, tiles) * 258


def _flat(_size: Size | None, _detail: str, *, tokens: int) -> int:
    """Count as Gemini 3 does, whose images have one price at the resolution that it chooses."""
    return tokens


def _dearest(size: Size | None, detail: str) -> int:
    return max(rates.image(size, detail) for rates in (_GPT_4O, _GPT_5_4, _CLAUDE, _GEMINI, _GEMINI_3))


def _openai(name: str, image: Callable[[Size | None, str], int]) -> MediaRates:
    """Give rates of OpenAI's; of each page of a PDF, it says, the text and an image are read: 1 500 for the text."""
    return MediaRates(name=f"openai/{name}", image=image, page=1_500 + image((1_275, 1_650), "high"))


_GPT_4O = _openai("tiles", partial(_tiles, base=85, tile=170))
_GPT_4O_MINI = _openai("tiles-4o-mini", partial(_tiles, base=2_833, tile=5_667))
_GPT_5 = _openai("tiles-5", partial(_tiles, base=70, tile=140))
_O_SERIES = _openai("tiles-o", partial(_tiles, base=75, tile=150))
_MINI = _openai("patches-mini", partial(_patches, factor=1.62))
_NANO = _openai("patches-nano", partial(_patches, factor=2.46))
_O4_MINI = _openai("patches-o4-mini", partial(_patches, factor=1.72))
_GPT_5_2 = _openai("patches", partial(_patches, factor=1.2))
_ORIGINAL = partial(_patches, factor=1.2, high=(2_048, 2_500), original=(6_000, 10_000))
_GPT_5_4 = _openai("patches-5.4", _ORIGINAL)
_GPT_5_5 = _openai("patches-5.5", partial(_ORIGINAL, by_itself="original"))
# A page of a PDF is documented as 1 500 to 3 000 tokens of text, beside its image; pages of text, tables and scans were measured
# at 1 600 to 2 480 in all.
_CLAUDE_4 = MediaRates(name="anthropic", image=partial(_anthropic, longest=1_568, most=1_600), page=3_000)
_CLAUDE = MediaRates(name="anthropic/high", image=partial(_anthropic, longest=2_576, most=4_784), page=3_000)
_GEMINI = MediaRates(name="gemini/tiles", image=_gemini_tiles, page=258)
_GEMINI_3 = MediaRates(name="gemini", image=partial(_flat, tokens=1_120), page=560)

DEAREST = MediaRates(name="dearest", image=_dearest, page=3_000)
"""The dearest of the three providers, for a model that is not known; but for gpt-4o-mini, whose images cost 33 times as much."""

_END = r"(?![\w.])"
_FAMILIES: tuple[tuple[re.Pattern[str], MediaRates], ...] = tuple(
    (re.compile(pattern), rates)
    for pattern, rates in (
        (rf"gpt-4o-mini{_END}", _GPT_4O_MINI),
        (rf"o4-mini{_END}", _O4_MINI),
        (rf"o[13]{_END}", _O_SERIES),
        (rf"gpt-(?:4\.1|[5-9](?:\.\d+)?)(?:-codex)?-mini{_END}|codex-mini{_END}", _MINI),
        (rf"gpt-(?:4\.1|[5-9](?:\.\d+)?)-nano{_END}", _NANO),
        (rf"gpt-5(?:\.1)?{_END}", _GPT_5),
        (rf"gpt-5\.[23]{_END}", _GPT_5_2),
        (rf"gpt-5\.4{_END}", _GPT_5_4),
        (rf"gpt-(?:5\.\d+|[6-9](?:\.\d+)?){_END}", _GPT_5_5),
        (rf"(?:chatgpt-4o|gpt-4(?:o|\.\d|-turbo|-vision)?){_END}", _GPT_4O),
        (r"claude-(?:[1-3]|instant|[a-z]+-4(?:-[0-6])?(?:[-@:](?:\d{8}|latest|v\d).*)?$)", _CLAUDE_4),
        (r"claude-", _CLAUDE),
        (r"gemini-[12](?:\.\d)?-", _GEMINI),
        (r"gemini-(?:exp|pro-vision)", _GEMINI),
        (r"gemini-", _GEMINI_3),
    )
)
