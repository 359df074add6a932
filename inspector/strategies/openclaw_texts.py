"""What OpenClaw makes of tool results, and what it takes texts for.

Source: openclaw/openclaw@11b0d35 `src/agents/pi-hooks/context-pruning/pruner.ts` and `src/utils/cjk-chars.ts`. Lengths
are UTF-16 units; where the size of the context is estimated, characters of scripts that take about a token each count
four times. Images in a result become a line of text; they are taken to stand after its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.strategies import javascript
from inspector.strategies.measures import Measure, sent_text
from inspector.strategies.rendition import Action, Rendition

if TYPE_CHECKING:
    from inspector.session.model import Block
    from inspector.strategies.operations import BlockSource

PER_IMAGE = 8_000
PER_TOKEN = 4
IMAGE_MARKER = "[image removed during context pruning]"
_WIDE = re.compile(
    "[\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f]"
)
_PLANES = re.compile("[\U00020000-\U0002fbff]")
"""Characters whose two units count as one where wide ones are counted: those whose first unit is D840 to D87E."""


def weighted(text: str) -> int:
    """What a text is taken for, in characters: `estimateStringChars`."""
    units = javascript.length(text)
    if text.isascii() or not (wide := len(_WIDE.findall(text))):
        return units
    return units - len(_PLANES.findall(text)) + wide * (PER_TOKEN - 1)


WEIGHTED = Measure(weighted)


@dataclass(frozen=True, slots=True)
class SoftTrim:
    """Keep head and tail of a long result, and a note on how long it was; say where images were.

    Attributes:
        limit: Longest text that stays.
        head: Units kept from the beginning.
        tail: Units kept from the end.
    """

    limit: int
    head: int
    tail: int

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Trim what is sent so far."""
        images = images_of(source.block, rendition)
        if rendition.length * 2 <= self.limit and not images:
            return rendition
        text = sent_text(rendition, source)
        if text is None:
            return rendition
        marks = "\n".join([IMAGE_MARKER] * images)
        joined = f"{text}\n{marks}" if text and marks else text or marks
        length = javascript.length(joined)
        if length <= self.limit or self.head + self.tail >= length:
            return Rendition.replaced(joined, rendition.kind) if images else rendition
        note = f"\n\n[Tool result trimmed: kept first {self.head} chars and last {self.tail} chars of {length} chars.]"
        if images:
            tail = javascript.tail(joined, self.tail) if self.tail else ""
            return Rendition.replaced(javascript.head(joined, self.head) + f"\n...\n{tail}{note}", rendition.kind)
        first, last = javascript.place(joined, self.head), javascript.place(joined, length - self.tail)
        pieces = (
            *rendition.between(0, first.whole),
            f"{javascript.HALF * first.splits}\n...\n{javascript.HALF * last.splits}",
            *rendition.between(last.whole + last.splits, rendition.length),
            note,
        )
        return Rendition(pieces, Action.CUT, rendition.kind)


def images_of(block: Block, rendition: Rendition) -> int:
    """How many images are sent with a result."""
    return len(block.media) if rendition.action in (Action.WHOLE, Action.CUT) else 0
