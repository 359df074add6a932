"""Lines made of pieces that name their style, with a cursor on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from inspector.ui.toolkit.line_view import LineView, strip_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style
    from textual.strip import Strip


class StyledLines(LineView):
    """A line view whose pieces name component classes; each is looked up once until colours or the focus change."""

    CURSOR: ClassVar[str] = "table--cursor"
    """Component class of the line under the cursor while the widget has the focus."""
    CURSOR_BLURRED: ClassVar[str] = "table--cursor-blurred"
    """The same while another widget has it."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._styles: dict[tuple[str, bool], Style] = {}

    def strip_of_pieces(self, pieces: Iterable[tuple[str, str]], width: int, *, selected: bool) -> Strip:
        """A line `width` cells wide.

        Args:
            pieces: Safe texts, each with its component class, empty for the widget's own style.
            width: Cells.
            selected: The cursor is on it.
        """
        parts = ((text, self._style(name, selected=selected)) for text, name in pieces)
        return strip_of(parts, width, self._style("", selected=selected))

    def restyle(self) -> None:
        """Draw every line anew, in the styles there are now."""
        self._styles.clear()
        self.forget_lines()

    def notify_style_update(self) -> None:
        """Forget colours."""
        super().notify_style_update()
        self._styles.clear()

    def _style(self, name: str, *, selected: bool) -> Style:
        key = (name, selected)
        style = self._styles.get(key)
        if style is None:
            style = self.style_of(name) if name else self.rich_style
            if selected:
                cursor = self.CURSOR if self.has_focus else self.CURSOR_BLURRED
                style += self.get_component_rich_style(cursor, partial=True)
            self._styles[key] = style
        return style
