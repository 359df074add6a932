"""What a tour says: two lines at the bottom that push the rest up, so that nothing is covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Sequence


class Caption(Widget):
    """`▶ 3 of 9  text`."""

    DEFAULT_CSS = """
    Caption {
        dock: bottom;
        height: 2;
        width: 1fr;
        padding: 0 1;
        background: $primary 25%;
        & > .caption--place { color: $text-muted; }
        & > .caption--key { color: $accent; text-style: bold; }
        &:ansi { background: ansi_default; text-style: reverse; }
        &:nocolor { text-style: reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"caption--place", "caption--key"}

    place: reactive[str] = reactive("")
    """How far the tour is."""
    text: reactive[str] = reactive("")
    """What is said; keys stand between backquotes."""

    def render(self) -> Content:
        """The place and the words."""
        return Content.assemble((f"▶ {self.place}  ", self.get_visual_style("caption--place")), *self._words())

    def _words(self) -> Sequence[Content]:
        key = self.get_visual_style("caption--key")
        return [
            Content.styled(part, key) if number % 2 else Content(part)
            for number, part in enumerate(self.text.split("`"))
        ]
