"""A scrollbar that shows what lies where, over its own thumb and track."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Marks = Sequence[tuple[str, Style] | None]


class ScrollMapRender(ScrollBarRender):
    """Draws Textual's own bar, then a glyph in every cell something is marked at."""

    marks_at: ClassVar[Callable[[int], Marks]]
    """The marks for a bar of so many cells."""

    @classmethod
    def render_bar(cls, size: int = 25, *args: Any, **named: Any) -> Segments:
        """The bar with its marks."""
        bar = super().render_bar(size, *args, **named)
        marks = cls.marks_at(size)
        return Segments(
            [
                segment if mark is None else _marked(segment, *mark)
                for segment, mark in zip(bar.segments, marks, strict=False)
            ],
            new_lines=True,
        )


def scroll_map(marks_at: Callable[[int], Marks]) -> type[ScrollBarRender]:
    """A renderer for one scrollbar.

    Args:
        marks_at: Gives the marks for a bar of so many cells: a glyph of one cell and its style, or None.
    """
    return type("ScrollMap", (ScrollMapRender,), {"marks_at": staticmethod(marks_at)})


def _marked(segment: Segment, glyph: str, style: Style) -> Segment:
    own = segment.style or Style()
    back = own.color if own.reverse else own.bgcolor
    return Segment(glyph, Style(color=style.color, bgcolor=back, bold=style.bold, meta=own.meta))
