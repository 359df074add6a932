"""A scrollbar of two lanes that shows what lies where, over its own thumb and track."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Lane = Sequence[tuple[str, Style] | None]
    Lanes = tuple[Lane, Lane]


class ScrollMapRender(ScrollBarRender):
    """Draws Textual's own bar, then a glyph in every cell something is marked at."""

    lanes_at: ClassVar[Callable[[int], Lanes]]
    """The marks of both lanes for a bar of so many cells."""

    @classmethod
    def render_bar(cls, size: int = 25, *args: Any, **named: Any) -> Segments:
        """The bar with its marks."""
        bar = super().render_bar(size, *args, **named)
        left, right = cls.lanes_at(size)
        segments: list[Segment] = []
        for segment, *marks in zip(bar.segments, left, right, strict=False):
            segments += [_marked(segment, mark) for mark in marks]
            segments.append(Segment.line())
        return Segments(segments)


def scroll_map(lanes_at: Callable[[int], Lanes]) -> type[ScrollBarRender]:
    """A renderer for one scrollbar, two cells wide.

    Args:
        lanes_at: Gives the marks of both lanes for a bar of so many cells: a glyph of one cell and its style, or None.
    """
    return type("ScrollMap", (ScrollMapRender,), {"lanes_at": staticmethod(lanes_at)})


@lru_cache(maxsize=256)
def _marked(segment: Segment, mark: tuple[str, Style] | None) -> Segment:
    own = segment.style or Style()
    if mark is None:
        return Segment(segment.text[:1] or " ", own)
    glyph, style = mark
    back = own.color if own.reverse else own.bgcolor
    return Segment(glyph, Style(color=style.color, bgcolor=back, bold=style.bold, meta=own.meta))
