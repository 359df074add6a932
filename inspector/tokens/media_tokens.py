"""What images and documents take of a prompt, by the rules that providers publish.

Where the file holds an image, its size in pixels decides; where it does not, the image is taken for a usual one, and
`unsized_images` says how far that may be off. Documents go by their size in bytes.

| models | an image takes |
|---|---|
| Claude | its patches of 28 by 28 pixels, scaled down to 1,568 of them, 4,784 from 4.7 on, and to a longest edge |
| OpenAI, small models and newer ones | its patches of 32 by 32 pixels, scaled down to a budget, times a factor |
| OpenAI, GPT-4o, GPT-4.1, GPT-5 and reasoning models | a base, and so many tokens for every tile of 512 by 512 pixels |
| Gemini until 2.5 | 258 tokens, or as many for every tile of two thirds of its shorter edge |
| Gemini from 3 on | 1,120 tokens |
| others | as newer models of Claude; nobody says |

From Anthropic's documentation, "Vision" and "Coordinates and bounding boxes"; OpenAI's, "Images and vision", an image
sent without a level of detail; Google's, "Image understanding" and "Media resolution", where the model chooses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol

from inspector.session.model import BlockKind
from inspector.tokens.model_names import is_openai, model_version, parse_model_name

if TYPE_CHECKING:
    from inspector.session.model import Block, Media

BYTES_PER_DOCUMENT_TOKEN = 4
"""Anthropic's documentation, "Web fetch tool": a PDF of 500 kB is about 125,000 tokens, a page of 10 kB about 2,500."""

LARGEST_DOCUMENT_TOKENS = 300_000
"""The same, "PDF support": at most 100 pages in a window of 200,000 tokens, at most 3,000 tokens of text each."""

USUAL_SIZE = (1456, 819)
"""Pixels of an image whose size is not known: a full screen of 1920 by 1080, scaled down as the most models need it."""

SMALLEST_SIZE, LARGEST_SIZE = (200, 200), (3840, 2160)
"""Pixels between which an image of unknown size is thought to lie: an icon, and a screen of four thousand pixels."""


class ImageRule(Protocol):
    """How a model measures an image."""

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of so many pixels, both at least 1."""
        ...


class ClaudePatches(NamedTuple):
    """Patches of 28 by 28 pixels of the largest image that keeps within both limits.

    Attributes:
        most: Patches at most.
        edge: Pixels of the longer edge at most.
    """

    most: int
    edge: int

    def tokens(self, width: int, height: int) -> int:
        """As `ImageRule.tokens`."""
        longer, shorter = max(width, height), min(width, height)
        low, high = 1, min(longer, self.edge)
        if _patches(high, high * shorter / longer) <= self.most:
            return _patches(high, high * shorter / longer)
        # The longest edge whose patches keep within the limit lies in between.
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _patches(middle, middle * shorter / longer) <= self.most else (low, middle)
        return _patches(low, low * shorter / longer)


def _patches(longer: int, shorter: float) -> int:
    return ceil(longer / 28) * ceil(max(round(shorter), 1) / 28)


class OpenAIPatches(NamedTuple):
    """Patches of 32 by 32 pixels of the image, scaled down to a budget of them.

    Attributes:
        most: Patches at most; 0 for no limit.
        edge: Pixels of the longer edge at most; 0 for no limit.
        factor: Tokens for one patch.
    """

    most: int
    edge: int
    factor: float = 1.0

    def tokens(self, width: int, height: int) -> int:
        """As `ImageRule.tokens`."""
        scale = min(1.0, self.edge / max(width, height)) if self.edge else 1.0
        wide, high = width * scale / 32, height * scale / 32
        if self.most and ceil(wide) * ceil(high) > self.most:
            shrink = sqrt(self.most / (wide * high))
            # So that whole patches keep within the budget; of a very long image, one row of them is left.
            whole = min(max(int(side * shrink), 1) / (side * shrink) for side in (wide, high))
            wide, high = wide * shrink * min(whole, 1.0), high * shrink * min(whole, 1.0)
        patches = ceil(round(wide, 6)) * ceil(round(high, 6))
        return ceil((min(patches, self.most) if self.most else patches) * self.factor)


class OpenAITiles(NamedTuple):
    """Tiles of 512 by 512 pixels of the image, scaled into 2,048 by 2,048 and to a shorter edge of 768.

    Attributes:
        base: Tokens of any image.
        tile: Tokens of one tile.
    """

    base: int
    tile: int

    def tokens(self, width: int, height: int) -> int:
        """As `ImageRule.tokens`."""
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (scale * min(width, height)))
        return self.base + self.tile * ceil(round(width * scale / 512, 6)) * ceil(round(height * scale / 512, 6))


class GeminiTiles(NamedTuple):
    """Tiles of two thirds of the shorter edge; an image of at most 384 by 384 pixels is one."""

    def tokens(self, width: int, height: int) -> int:
        """As `ImageRule.tokens`."""
        if max(width, height) <= 384:
            return 258
        unit = max(int(min(width, height) / 1.5), 1)
        # The formula is said to be rough; a strip of an image is not cut into thousands of tiles.
        return 258 * min(ceil(width / unit) * ceil(height / unit), 3600)


class SameForAll(NamedTuple):
    """An image takes what its resolution is set to, whatever its size.

    Attributes:
        each: Tokens of one.
    """

    each: int

    def tokens(self, width: int, height: int) -> int:
        """As `ImageRule.tokens`."""
        del width, height
        return self.each


CLAUDE_UNTIL_4_6 = ClaudePatches(1568, 1568)
CLAUDE_SINCE_4_7 = ClaudePatches(4784, 2576)
OTHERS = CLAUDE_SINCE_4_7

_CLAUDE_FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")

_OPENAI_RULES: tuple[tuple[str, ImageRule], ...] = (
    ("gpt-4o-mini", OpenAITiles(2833, 5667)),
    ("gpt-4.1-mini", OpenAIPatches(1536, 2048, 1.62)),
    ("gpt-4.1-nano", OpenAIPatches(1536, 2048, 2.46)),
    ("gpt-5-mini", OpenAIPatches(1536, 2048, 1.62)),
    ("gpt-5-nano", OpenAIPatches(1536, 2048, 2.46)),
    ("gpt-5.4-mini", OpenAIPatches(1536, 2048, 1.62)),
    ("gpt-5.4-nano", OpenAIPatches(1536, 2048, 2.46)),
    ("o4-mini", OpenAIPatches(1536, 2048, 1.72)),
    ("gpt-5-codex-mini", OpenAIPatches(1536, 2048)),
    ("gpt-5.1-codex-mini", OpenAIPatches(1536, 2048)),
    ("gpt-5.2", OpenAIPatches(1536, 2048)),
    ("gpt-5.3", OpenAIPatches(1536, 2048)),
    ("gpt-5.4", OpenAIPatches(2500, 2048)),
    ("gpt-5.5", OpenAIPatches(10_000, 6000)),
    ("gpt-5.6", OpenAIPatches(0, 0)),
    ("gpt-5", OpenAITiles(70, 140)),
    ("gpt-4", OpenAITiles(85, 170)),
    ("chatgpt-4", OpenAITiles(85, 170)),
    ("o1", OpenAITiles(75, 150)),
    ("o3", OpenAITiles(75, 150)),
)
"""By the beginning of a name; the first that fits counts."""

_OPENAI_NEWER = OpenAIPatches(0, 0)


@lru_cache(maxsize=1024)
def image_rule(model: str) -> ImageRule:
    """How a model, named as it is recorded, measures images; a guess where nobody says, or it has no name."""
    name = parse_model_name(model).name
    if "claude" in name:
        versions = [model_version(name, family) or (0, 0) for family in _CLAUDE_FAMILIES]
        return CLAUDE_SINCE_4_7 if max(versions) >= (4, 7) else CLAUDE_UNTIL_4_6
    if is_openai(name):
        return next((rule for start, rule in _OPENAI_RULES if name.startswith(start)), _OPENAI_NEWER)
    if of_gemini := model_version(name, "gemini"):
        return SameForAll(1120) if of_gemini >= (3, 0) else GeminiTiles()
    return OTHERS


def media_tokens(media: Media, rule: ImageRule) -> int:
    """The provider's tokens of one image or document."""
    if media.width and media.height:
        return rule.tokens(media.width, media.height)
    if _is_image(media):
        return rule.tokens(*USUAL_SIZE)
    return min(-(-media.size_bytes // BYTES_PER_DOCUMENT_TOKEN), LARGEST_DOCUMENT_TOKENS)


def block_media_tokens(block: Block, rule: ImageRule) -> int:
    """The provider's tokens of a block's images and documents; of a document with a text, only that counts."""
    if block.kind in (BlockKind.OTHER, BlockKind.THINKING) or (block.kind is BlockKind.DOCUMENT and block.characters):
        return 0
    if block.media:
        return sum(media_tokens(media, rule) for media in block.media)
    return rule.tokens(*USUAL_SIZE) if block.kind is BlockKind.IMAGE else 0


@dataclass(frozen=True, slots=True)
class UnsizedImages:
    """Images whose size the file does not tell.

    Attributes:
        count: How many.
        least: Tokens such an image may well take.
        most: The same, at most.
    """

    count: int
    least: int
    most: int


def unsized_images(block: Block, rule: ImageRule) -> UnsizedImages | None:
    """The images of a block whose size the file does not tell; None where there are none."""
    if not block_media_tokens(block, rule):
        return None
    count = sum(_is_image(media) and not (media.width and media.height) for media in block.media)
    count += block.kind is BlockKind.IMAGE and not block.media
    return UnsizedImages(count, rule.tokens(*SMALLEST_SIZE), rule.tokens(*LARGEST_SIZE)) if count else None


def _is_image(media: Media) -> bool:
    return bool(media.width and media.height) or media.media_type.startswith("image/") or not media.size_bytes
