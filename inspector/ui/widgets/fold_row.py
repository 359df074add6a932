"""The row that shows and hides the parameters most people leave alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.ui.widgets.parameter_control import FOCUS_MARK


class FoldRow(Widget, can_focus=True):
    """`▸ 11 more settings`."""

    HELP = "Press enter or click to show or hide the strategy's other settings."

    DEFAULT_CSS = """
    FoldRow {
        height: 1;
        width: 1fr;
        pointer: pointer;
        color: $text-muted;
        &:focus { background: $primary 20%; }
        &:focus:ansi { background: ansi_default; }
    }
    """

    ALLOW_SELECT = False  # a click folds, and marks no text

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter,space", "fold", "More", id="strategy.more", tooltip="Show or hide the strategy's other settings"
        ),
    ]

    is_open: reactive[bool] = reactive(False)
    """Whether they are shown."""

    @dataclass
    class Folded(Message):
        """The settings should be shown or hidden."""

        is_open: bool

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def render(self) -> Content:
        """The row."""
        mark = FOCUS_MARK if self.has_focus else " "
        return Content(f"{mark} {'▾' if self.is_open else '▹'} {self._count} more settings")

    def on_click(self) -> None:
        """Show or hide."""
        self.action_fold()

    def action_fold(self) -> None:
        """Show or hide."""
        self.is_open = not self.is_open
        self.post_message(self.Folded(self.is_open))
