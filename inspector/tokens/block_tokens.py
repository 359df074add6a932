"""Token counts of blocks, including tokens beyond the text.

A block's tokens are the tokens of its text plus the additions below. Cutting a block's text does not change the
additions. The rules approximate the providers' rules, and none is exact, which is one reason for calibrating counts
against reported usage.

| block | tokens |
|---|---|
| system, user and assistant text | its text |
| tool call | its name, and its input as JSON |
| tool result | its text, and every image and document in it |
| thinking | its text; if only a signature or encrypted content was recorded, a quarter of its characters |
| image | by its size in pixels, see below; its text, if any, is not sent |
| document | its text; without one, by its size in bytes, see below |
| other | none: it is never sent |

Only for images and documents are the provider's own tokens available. They are converted to counted tokens with the
typical ratio of the model that answers most of the session's calls, so that all tokens of a block have one scale.

Images and documents follow the rules that providers publish. If the file contains an image, its size in pixels
determines its tokens, for OpenAI also the requested `detail`; otherwise a typical size is assumed. A PDF takes an image
and a text per page; pages are counted if the file contains it. `unsized_images` and `uncertain_documents` return the
possible range. Other documents are estimated from their size.

| models | tokens of an image |
|---|---|
| Claude | its patches of 28 by 28 pixels, scaled down to 1,568 of them, 4,784 from 4.7 on, and to a longest edge |
| OpenAI, small and newer models | its patches of 32 by 32 pixels, scaled down as its detail allows, times a factor |
| OpenAI, GPT-4o, GPT-4.1, GPT-5, GPT-5.1, o1, o3 | a base, and, unless of low detail, tokens for tiles of 512 pixels |
| Gemini until 2.5 | 258 tokens, or as many for every tile of two thirds of its shorter edge |
| Gemini from 3 on | 1,120 tokens |
| others | as for newer Claude models (not documented) |

| models | tokens of a PDF page |
|---|---|
| Claude, others | some 1,590 tokens for its image, and its text, some 750, at most 3,000 |
| OpenAI | the image of a page by the model's rule (its size is not documented), and its text |
| Gemini until 2.5, from 3 on | 258 tokens, 560 tokens; its text is not counted |

Sources: Anthropic's documentation, "Vision", "Coordinates and bounding boxes", "PDF support"; OpenAI's, "Images and
vision" (its tables of sizing and of multipliers, as of October 2026) and "File inputs"; Google's, "Image
understanding", "Document understanding" and "Media resolution", where the model chooses it. Tokens of a PDF page for
Claude and Gemini 3 were measured in https://huggingface.co/datasets/JOHNISKING/pdf-token-cost (October 2026): a page of
text is 2,324 tokens for Claude, with 728 for the text alone, a scanned page 1,600; any page is 560 tokens for Gemini.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from inspector.session.model import Block, BlockKind, Media, Message, Session
from inspector.session.snapshot_list import unchanged
from inspector.tokens.model_names import is_openai, model_version, parse_model_name, typical_coefficients
from inspector.tokens.prefix_counts import EMPTY_ROW, CountedTexts, TextColumns, digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


BYTES_PER_DOCUMENT_TOKEN = 4
"""Anthropic's documentation, "Web fetch tool": a PDF of 500 kB is about 125,000 tokens, a page of 10 kB about 2,500."""

LARGEST_DOCUMENT_TOKENS = 300_000
""""PDF support": at most 100 pages in a window of 200,000 tokens, at most 3,000 tokens of text each."""

MOST_PAGES_AT_ONCE = 100
"""Maximum pages of a PDF, see "PDF support"."""

USUAL_SIZE = (1456, 819)
"""Assumed pixels of an image of unknown size: a full screen of 1920 by 1080, scaled down as most models require."""

SMALLEST_SIZE, LARGEST_SIZE = (200, 200), (3840, 2160)
"""Assumed range of an image of unknown size in pixels: from an icon to a 4K screen."""


class ImageRule(Protocol):
    """A model's rule for the tokens of an image."""

    def tokens(self, width: int, height: int, detail: str = "") -> int:
        """Return the tokens of an image with this size in pixels, both at least 1; `detail` is as in `Media`."""
        ...

    @property
    def page(self) -> PageTokens: ...


class PageTokens(NamedTuple):
    """Range of tokens of a PDF page: a typical page of text, one without text, a very full one."""

    usual: int
    least: int
    most: int


USUAL_TEXT, MOST_TEXT = 750, 3000
"""Tokens of the text of a page: measured, and the maximum in Anthropic's documentation."""

CLAUDE_PAGE = PageTokens(1590 + USUAL_TEXT, 1590, 1590 + MOST_TEXT)

PAGE_SIZE, SMALLEST_PAGE, LARGEST_PAGE = (1224, 1584), (612, 792), (1700, 2200)
"""Assumed pixels of a page image if undocumented: US letter at 144, 72 and 200 dpi."""


class ClaudePatches(NamedTuple):
    """Patches of 28 by 28 pixels of the largest image within both limits. `edge`: maximum longer edge in pixels."""

    most: int
    edge: int

    def tokens(self, width: int, height: int, detail: str = "") -> int:  # noqa: ARG002  # OpenAI's
        longer, shorter = max(width, height), min(width, height)
        low, high = 1, min(longer, self.edge)
        if _patches(high, high * shorter / longer) <= self.most:
            return _patches(high, high * shorter / longer)
        # Search for the longest edge with a patch count within the limit.
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _patches(middle, middle * shorter / longer) <= self.most else (low, middle)
        return _patches(low, low * shorter / longer)

    @property
    def page(self) -> PageTokens:
        return CLAUDE_PAGE


def _patches(longer: int, shorter: float) -> int:
    return ceil(longer / 28) * ceil(max(round(shorter), 1) / 28)


class PatchLimits(NamedTuple):
    """Limits an image is scaled to: most patches, 0 for any number, and longer edge in pixels, 0 for any."""

    most: int
    edge: int


class OpenAIPatches(NamedTuple):
    """Patches of 32 by 32 pixels of the image, scaled down to the limits of its detail level.

    Attributes:
        limits: Limits without a detail level, or if the model chooses it.
        original: Limits for original detail; as for high in models without it.
    """

    factor: float
    limits: PatchLimits
    low: PatchLimits
    high: PatchLimits
    original: PatchLimits

    def tokens(self, width: int, height: int, detail: str = "") -> int:
        limits = {"low": self.low, "high": self.high, "original": self.original}.get(detail, self.limits)
        scale = min(1.0, limits.edge / max(width, height)) if limits.edge else 1.0
        wide, high = (max(round(side * scale), 1) for side in (width, height))
        if limits.most and ceil(wide / 32) * ceil(high / 32) > limits.most:
            shrink = sqrt(32**2 * limits.most / (wide * high))
            # Keep whole patches within the budget; at least one row of a very long image.
            whole = min(max(int(side * shrink / 32), 1) / (side * shrink / 32) for side in (wide, high))
            wide, high = (max(int(round(side * shrink * min(whole, 1.0), 6)), 1) for side in (wide, high))
        patches = ceil(wide / 32) * ceil(high / 32)
        patches = min(patches, limits.most) if limits.most else patches
        return ceil(round(patches * self.factor, 6))

    @property
    def page(self) -> PageTokens:
        return _page_of(self)


class OpenAITiles(NamedTuple):
    """Tiles of 512 pixels, scaled into 2,048 and to a shorter edge of 768. `base`: of any image, all at low detail."""

    base: int
    tile: int

    def tokens(self, width: int, height: int, detail: str = "") -> int:
        if detail == "low":
            return self.base
        scale = min(1.0, 2048 / max(width, height))
        scale *= min(1.0, 768 / (scale * min(width, height)))
        return self.base + self.tile * ceil(round(width * scale / 512, 6)) * ceil(round(height * scale / 512, 6))

    @property
    def page(self) -> PageTokens:
        return _page_of(self)


def _page_of(rule: OpenAIPatches | OpenAITiles) -> PageTokens:
    """Return the tokens of a page with an image of undocumented size: both image and text are sent."""
    usual, least, most = rule.tokens(*PAGE_SIZE), rule.tokens(*SMALLEST_PAGE, "low"), rule.tokens(*LARGEST_PAGE)
    return PageTokens(usual + USUAL_TEXT, min(least, usual), most + MOST_TEXT)


class GeminiTiles(NamedTuple):
    """Tiles of two thirds of the shorter edge; an image of up to 384 by 384 pixels is one tile."""

    def tokens(self, width: int, height: int, detail: str = "") -> int:  # noqa: ARG002  # OpenAI's
        if max(width, height) <= 384:
            return 258
        unit = max(int(min(width, height) / 1.5), 1)
        # The documented formula is approximate; a narrow image is not cut into thousands of tiles.
        return 258 * min(ceil(width / unit) * ceil(height / unit), 3600)

    @property
    def page(self) -> PageTokens:
        return PageTokens(258, 258, 258)


class FlatRate(NamedTuple):
    """Constant tokens per image, depending on the resolution setting but not on the image size."""

    each: int
    of_page: int

    def tokens(self, width: int, height: int, detail: str = "") -> int:  # noqa: ARG002  # constant
        return self.each

    @property
    def page(self) -> PageTokens:
        return PageTokens(self.of_page, self.of_page, self.of_page)


CLAUDE_UNTIL_4_6 = ClaudePatches(1568, 1568)
CLAUDE_SINCE_4_7 = ClaudePatches(4784, 2576)
OTHERS = CLAUDE_SINCE_4_7

_CLAUDE_FAMILIES = ("opus", "sonnet", "haiku", "fable", "mythos")

_SMALL, _WIDE, _HIGH, _ORIGINAL = (
    PatchLimits(0, 512),
    PatchLimits(6144, 2048),
    PatchLimits(2500, 2048),
    PatchLimits(10_000, 6000),
)
_OLD = PatchLimits(1536, 2048)
"""Limits of models that were in earlier versions of the documented table only."""

_UNLIMITED = PatchLimits(0, 65_535)


def _same(factor: float, limits: PatchLimits) -> OpenAIPatches:
    """Return the rule of a model that treats all detail levels the same."""
    return OpenAIPatches(factor, limits, limits, limits, limits)


_GPT_5_4 = OpenAIPatches(1.2, _HIGH, _WIDE, _HIGH, _ORIGINAL)

_OPENAI_NEWER = OpenAIPatches(1.2, _UNLIMITED, _SMALL, PatchLimits(2500, 65_535), _UNLIMITED)

_OPENAI_RULES: tuple[tuple[str, ImageRule], ...] = (
    ("gpt-4o-mini", OpenAITiles(2833, 5667)),
    ("gpt-4.1-mini", _same(1.62, _WIDE)),
    ("gpt-4.1-nano", _same(2.46, _OLD)),
    ("gpt-5-mini", _same(1.2, _OLD)),
    ("gpt-5-nano", _same(1.5, _OLD)),
    ("o4-mini", _same(1.72, _OLD)),
    ("gpt-5-codex-mini", _same(1.2, _OLD)),
    ("gpt-5.1-codex-mini", _same(1.2, _OLD)),
    ("gpt-5.2", _same(1.2, _WIDE)),
    ("gpt-5.3", _same(1.2, _WIDE)),
    ("gpt-5.4", _GPT_5_4),
    ("gpt-5.5", OpenAIPatches(1.2, _ORIGINAL, _SMALL, _HIGH, _ORIGINAL)),
    ("gpt-5.6", OpenAIPatches(1.2, _UNLIMITED, _SMALL, _HIGH, _UNLIMITED)),
    ("gpt-5", OpenAITiles(70, 140)),
    ("gpt-4", OpenAITiles(85, 170)),
    ("chatgpt-4", OpenAITiles(85, 170)),
    ("o1", OpenAITiles(75, 150)),
    ("o3", OpenAITiles(75, 150)),
)
"""Rules by prefix of the model name; the first match applies."""


@lru_cache(maxsize=1024)
def image_rule(model: str) -> ImageRule:
    """Return the rule of a model, named as recorded; a guess if it is undocumented or unnamed."""
    name = parse_model_name(model).name
    if "claude" in name:
        versions = [model_version(name, family) or (0, 0) for family in _CLAUDE_FAMILIES]
        return CLAUDE_SINCE_4_7 if max(versions) >= (4, 7) else CLAUDE_UNTIL_4_6
    if is_openai(name):
        return next((rule for start, rule in _OPENAI_RULES if name.startswith(start)), _OPENAI_NEWER)
    if of_gemini := model_version(name, "gemini"):
        return FlatRate(1120, 560) if of_gemini >= (3, 0) else GeminiTiles()
    return OTHERS


def media_tokens(media: Media, rule: ImageRule) -> int:
    if media.width and media.height:
        return rule.tokens(media.width, media.height, media.detail)
    if _is_pdf(media) and (media.pages or not media.size_bytes):
        return rule.page.usual * (media.pages or 1)
    if _is_image(media):
        return rule.tokens(*USUAL_SIZE, media.detail)
    return min(-(-media.size_bytes // BYTES_PER_DOCUMENT_TOKEN), LARGEST_DOCUMENT_TOKENS)


def block_media_tokens(block: Block, rule: ImageRule) -> int:
    """Return the provider's tokens of a block's images and documents, 0 for a document with text."""
    if block.kind in (BlockKind.OTHER, BlockKind.THINKING) or (block.kind is BlockKind.DOCUMENT and block.characters):
        return 0
    if block.media:
        return sum(media_tokens(media, rule) for media in block.media)
    return rule.tokens(*USUAL_SIZE) if block.kind is BlockKind.IMAGE else 0


@dataclass(frozen=True, slots=True)
class UncertainMedia:
    """Images or documents with a token count that the file does not determine.

    Attributes:
        pages: Pages of the documents; 0 if unknown, and for images.
        least: Minimum plausible tokens of such an image, or of all the documents.
        most: Maximum plausible tokens of such an image, or of all the documents.
    """

    count: int
    pages: int
    least: int
    most: int


def unsized_images(block: Block, rule: ImageRule) -> UncertainMedia | None:
    """Return the images of unknown size in a block, or None if there are none or size does not matter."""
    if not block_media_tokens(block, rule):
        return None
    details = [media.detail for media in block.media if _is_image(media) and not (media.width and media.height)]
    details += [""] * (block.kind is BlockKind.IMAGE and not block.media)
    least = min((rule.tokens(*SMALLEST_SIZE, detail) for detail in details), default=0)
    most = max((rule.tokens(*LARGEST_SIZE, detail) for detail in details), default=0)
    return UncertainMedia(len(details), 0, least, most) if least < most else None


def uncertain_documents(block: Block, rule: ImageRule) -> UncertainMedia | None:
    """Return the PDFs of a block if their tokens depend on unknown page contents, otherwise None."""
    found = [media for media in block.media if _is_pdf(media)] if block_media_tokens(block, rule) else []
    pages = sum(media.pages for media in found) if all(media.pages for media in found) else 0
    least = sum(rule.page.least * max(media.pages, 1) for media in found)
    most = sum(rule.page.most * (media.pages or MOST_PAGES_AT_ONCE) for media in found)
    return UncertainMedia(len(found), pages, least, most) if least < most else None


def _is_pdf(media: Media) -> bool:
    return media.media_type == "application/pdf" or media.pages > 0


def _is_image(media: Media) -> bool:
    if _is_pdf(media):
        return False
    return bool(media.width and media.height) or media.media_type.startswith("image/") or not media.size_bytes


SIGNATURE_CHARACTERS_PER_TOKEN = 4
"""Fitted to recorded usage of Claude Opus 4.5 to 4.8, Sonnet 5 and Fable 5: 0.8 to 1.1 tokens every four characters."""

_NO_TEXT = frozenset({BlockKind.IMAGE, BlockKind.OTHER})


def sends_text(block: Block) -> bool:
    """Return True if the block's text is sent; False for images and unsent blocks."""
    return block.characters > 0 and block.kind not in _NO_TEXT


@dataclass(frozen=True, slots=True)
class MediaMeasure:
    """Token counting of images and documents. `ratio`: provider tokens per counted token, typical of the model."""

    rule: ImageRule
    ratio: float

    @classmethod
    def of(cls, model: str) -> MediaMeasure:
        return cls(image_rule(model), typical_coefficients(model).ratio)

    def counted(self, block: Block) -> int:
        """Return the tokens of the block's images and documents, converted to counted tokens."""
        return round(block_media_tokens(block, self.rule) / self.ratio)


def main_model(session: Session) -> str:
    """Return the model that answers most of a session's calls; empty if there are none."""
    names = Counter(call.model for call in session.calls)
    return max(names, key=names.__getitem__) if names else ""


def thinking_tokens(block: Block) -> int:
    """Return the tokens of a thinking block beyond its text, for a signature without text."""
    return 0 if block.characters else -(-block.signature_characters // SIGNATURE_CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, eq=False)
class BlockColumns:
    """Columns with one row per block.

    Attributes:
        measure: Token counting of images and documents; None if there are none.
        messages: The messages the columns were built from.
        characters: Characters of the sent text, int32.
        name_characters: Characters of the tool's name sent with a tool call, int32.
        fixed: Tokens beyond text and name, int32.
        media: Tokens in `fixed` for images and documents, int32.
        row: Row of the text in the counted texts, or `NOT_COUNTED`, int32.
        name_row: Row of the tool's name in the counted texts, or `NOT_COUNTED`, int32.
    """

    measure: MediaMeasure | None
    messages: Sequence[Message]
    characters: NDArray[np.int32]
    name_characters: NDArray[np.int32]
    fixed: NDArray[np.int32]
    media: NDArray[np.int32]
    row: NDArray[np.int32]
    name_row: NDArray[np.int32]

    @classmethod
    def empty(cls) -> BlockColumns:
        none = np.zeros(0, np.int32)
        return cls(None, (), none, none, none, none, none, none)

    @classmethod
    def of(cls, session: Session, texts: CountedTexts, earlier: BlockColumns) -> BlockColumns:
        """Build the columns of a session, reusing rows of messages unchanged since `earlier`."""
        messages = session.messages
        measure = earlier.measure
        if measure is not None and measure != MediaMeasure.of(main_model(session)):
            earlier = cls.empty()  # another model now has most calls and measures images differently
            measure = None
        kept = unchanged(messages, earlier.messages)
        kept_blocks = len(earlier.row) - sum(len(message.blocks) for message in earlier.messages[kept:])
        names: dict[str, bytes] = {}
        new: list[tuple[int, int, int, int, int, int]] = []
        for message in messages[kept:]:
            for block in message.blocks:
                characters = block.characters if sends_text(block) else 0
                row = texts.row(block.digest) if characters else EMPTY_ROW
                name_characters, name_row = 0, EMPTY_ROW
                if block.kind is BlockKind.TOOL_CALL and (name := block.tool_name):
                    digest = names.get(name) or names.setdefault(name, digest_of(name))
                    name_characters, name_row = len(name), texts.row(digest)
                fixed = media = 0
                if block.kind is BlockKind.THINKING:
                    fixed = thinking_tokens(block)
                elif block.media or block.kind is BlockKind.IMAGE:
                    measure = measure or MediaMeasure.of(main_model(session))
                    fixed = media = measure.counted(block)
                new.append((characters, name_characters, fixed, media, row, name_row))
        added = np.array(new, np.int32).reshape(-1, 6).T
        before = (
            earlier.characters,
            earlier.name_characters,
            earlier.fixed,
            earlier.media,
            earlier.row,
            earlier.name_row,
        )
        joined = [np.concatenate((old[:kept_blocks], fresh)) for old, fresh in zip(before, added, strict=True)]
        return cls(measure, messages, *joined)

    def counted(self) -> NDArray[np.bool_]:
        """Return, per block, whether all its text was counted."""
        return (self.row >= 0) & (self.name_row >= 0)

    def text_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        return tokens_or_estimate(columns, self.row, self.characters)

    def other_tokens(self, columns: TextColumns) -> NDArray[np.int32]:
        """Return the tokens of each block beyond its text."""
        return self.fixed + tokens_or_estimate(columns, self.name_row, self.name_characters)


def tokens_or_estimate(
    columns: TextColumns, rows: NDArray[np.int32], characters: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the tokens of whole texts, estimated from their characters if not counted."""
    return np.where(rows >= 0, columns.tokens(rows), estimated(characters)).astype(np.int32)


def estimated(characters: NDArray[np.int32]) -> NDArray[np.int64]:
    """Vectorized `counter.estimated_tokens`."""
    return (2 * characters.astype(np.int64) + 6) // 7
