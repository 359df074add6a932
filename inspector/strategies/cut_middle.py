"""Cutting the middle out of a text by a budget of bytes, never within a character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies.estimators import CHARACTERS_PER_TOKEN, bytes_of, of_bytes
from inspector.strategies.measures import sent_text
from inspector.strategies.rendition import Action, Rendition

if TYPE_CHECKING:
    from inspector.strategies.operations import BlockSource


@dataclass(frozen=True, slots=True)
class CutMiddle:
    """Keep half a budget from each end of a text over it, and say how much is missing between.

    The rule and its texts are Codex's (openai/codex `codex-rs/utils/string/src/truncate.rs`,
    `codex-rs/utils/output-truncation/src/lib.rs`).

    Attributes:
        budget: What a text may have, in `in_tokens` four bytes each, or bytes.
        in_tokens: The budget and what is missing are in tokens instead of bytes and characters.
        announced: Say before the text that it was cut, and how long it was.
    """

    budget: int
    in_tokens: bool
    announced: bool

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Cut what is sent so far, if it has more bytes than the budget."""
        budget = self.budget * CHARACTERS_PER_TOKEN if self.in_tokens else self.budget
        # No character has more than four bytes.
        if rendition.length * 4 <= budget:
            return rendition
        text = sent_text(rendition, source)
        size = bytes_of(text) if text is not None else 0
        if text is None or size <= budget:
            return rendition
        head, tail = (0, len(text)) if not budget else _kept(text, size, budget)
        removed = of_bytes(size - budget) if self.in_tokens else tail - head
        marker = f"…{removed} {'tokens' if self.in_tokens else 'chars'} truncated…"
        pieces = (*rendition.between(0, head), marker, *rendition.between(tail, len(text)))
        if self.announced:
            lines = text.count("\n") + (not text.endswith("\n"))
            opening = (
                f"Warning: truncated output (original token count: {of_bytes(size)})\nTotal output lines: {lines}\n\n"
            )
            pieces = (opening, *pieces)
        return Rendition(pieces, Action.CUT, rendition.kind)


def _kept(text: str, size: int, budget: int) -> tuple[int, int]:
    """Where, in characters, the kept beginning ends and the kept end begins."""
    left = budget // 2
    right = size - (budget - left)
    if text.isascii():
        return left, right
    encoded = text.encode("utf-8", "surrogatepass")
    while left and _is_inside(encoded[left]):
        left -= 1
    while right < size and _is_inside(encoded[right]):
        right += 1
    head = len(encoded[:left].decode("utf-8", "surrogatepass"))
    return head, len(text) - len(encoded[right:].decode("utf-8", "surrogatepass"))


def _is_inside(byte: int) -> bool:
    """Whether a byte is neither a character's first nor its only one."""
    return byte & 0xC0 == 0x80
