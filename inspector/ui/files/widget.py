"""The widget with a file's known content, of any length."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.reactive import var

from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import FILES_CONTENT
from inspector.ui.toolkit.line_view import LineView, component_classes, strip_of

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.ui.files.view import KnownLines

CSS: Final = """
KnownContent {
    height: 1fr;
    background: $background;
    scrollbar-background: $background;
    & > .known--number { color: $text-muted; }
    & > .known--line { color: $foreground; }
    & > .known--note { color: $text-accent; text-style: italic; }
}
"""


class KnownContent(LineView):
    """Known content of a file. Set `known` to show it."""

    DEFAULT_CSS = CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(CSS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(FILES_CONTENT)
    HELP = """The file as known to the agent after the selected step of its history, according to the session's records
    only. Lines between ⋯ are unknown: the agent had not seen them, or something else had changed the file. Lines with
    an unknown position have no number; long lines are cut at the edge."""

    known: var[KnownLines | None] = var(None, init=False)

    def watch_known(self) -> None:
        """Scroll to the lines shown or changed last."""
        known = self.known
        self.show_lines(0 if known is None else len(known))
        self.scroll_to_line(0 if known is None else max(known.begin - self.page_height // 4, 0))
        self.post_hidden_lines()

    def on_resize(self) -> None:
        self.forget_lines()
        self.post_hidden_lines()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_hidden_lines()

    def action_scroll(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step)

    def action_page(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        self.scroll_to_line(0)

    def action_last(self) -> None:
        self.scroll_to_line(self.line_count)

    def draw_line(self, line: int, width: int) -> Strip:
        if self.known is None:
            return strip_of((), width, self.rich_style)
        room = self.known.number_width + 3
        number, text, is_note = self.known.line(line, max(width - room, 1))
        parts = (
            (f" {number:>{self.known.number_width}}  ", self.style_of("known--number")),
            (text, self.style_of("known--note" if is_note else "known--line")),
        )
        return strip_of(parts, width, self.rich_style)
