"""Keep a preview of large tool results when they are inserted, as Strands does it.

Source: strands-agents 1.62 `_context_manager` (preset `large_tool_offloading`, `methods/truncate.py`). Results that
report success and are over a threshold keep a preview: head and tail, three to two, or one of them. Where the preview
would not be shorter, the result stays. What is kept besides under a reference to it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from inspector.strategies.base import Decision
from inspector.strategies.history import NEVER
from inspector.strategies.rendition import Action, Rendition
from inspector.strategies.schedules import ScheduleBuilder
from inspector.strategies.settings import choice, whole
from inspector.strategies.tunable import Tunable

if TYPE_CHECKING:
    from inspector.strategies.base import Schedule
    from inspector.strategies.history import History
    from inspector.strategies.operations import BlockSource

_PER_TOKEN = 4
_HEAD_SHARE = {"head-tail": 0.6, "head": 1.0, "tail": 0.0}


@dataclass(frozen=True, slots=True)
class PreviewText:
    """Keep a preview of a text, if that is shorter.

    Attributes:
        characters: How long the preview is.
        share: Which part of it is the text's head.
    """

    characters: int
    share: float

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  the length says it all
        """Preview what is sent so far."""
        length = rendition.length
        if length <= self.characters:
            return rendition
        head = int(self.characters * self.share)
        tail = self.characters - head
        title = f"[Truncated: 1 block, ~{-(-length // _PER_TOKEN):,} tokens]\n\n"
        marker = f"[... {length - self.characters:,} chars elided ...]"
        before, after = "\n\n" if head else "", "\n\n" if tail else ""
        if len(title) + head + len(before) + len(marker) + len(after) + tail >= length:
            return rendition
        pieces = (
            title,
            *rendition.between(0, head),
            before + marker + after,
            *(rendition.between(length - tail, length) if tail else ()),
        )
        return Rendition(pieces, Action.CUT, rendition.kind)


@dataclass(frozen=True)
class StrandsOffload(Tunable):
    """Keep a preview of large results, once, when they are inserted."""

    name: ClassVar[str] = "strands-offload"
    title: ClassVar[str] = "Preview at insertion (Strands)"
    summary: ClassVar[str] = "Insert a preview of results over a threshold, unless they report failure."
    source: ClassVar[str] = "strands-agents 1.62 _context_manager, preset large_tool_offloading"

    threshold: int = whole(
        "threshold",
        2_500,
        "Largest result that is inserted whole, at four characters a token.",
        "tokens",
        maximum=10**6,
    )
    preview_tokens: int = whole(
        "preview-tokens", 1_000, "Length of the preview, at four characters a token.", "tokens", maximum=1_000_000
    )
    preview: str = choice("preview", ("head-tail", "head", "tail"), "Which part is kept.")

    def schedule(self, history: History) -> Schedule:
        """Every result is decided when it enters."""
        builder = ScheduleBuilder()
        results = history.results[history.enters[history.results] != NEVER]
        large = results[(history.characters[results] > self.threshold * _PER_TOKEN) & ~history.is_error[results]]
        operation = PreviewText(self.preview_tokens * _PER_TOKEN, _HEAD_SHARE[self.preview])
        builder.add(large, history.enters[large], Decision(operation, "large at insertion"))
        return builder.schedule()
