"""A few labelled lines about one thing, each folded under itself."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from inspector.ui.detail.wrapping import wrap

Fact = tuple[str, str]
"""A label and what it says; may hold session text."""


class Facts(Widget):
    """Labels at the left, what they say beside them. What does not fit below is left out: the first matter most."""

    DEFAULT_CSS = """
    Facts {
        height: 1fr;
        width: 1fr;
        padding: 0 1;
        & > .facts--label { color: $text-muted; }
        & > .facts--text { color: $foreground; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"facts--label", "facts--text"}

    facts: reactive[tuple[Fact, ...]] = reactive[tuple[Fact, ...]](())
    """What is shown."""

    def render(self) -> Content:
        """The lines."""
        label_style, text_style = self.get_visual_style("facts--label"), self.get_visual_style("facts--text")
        widest = max((len(label) for label, _ in self.facts), default=0)
        lines: list[Content] = []
        for label, text in self.facts:
            folded = wrap(text, max(self.content_size.width - widest - 2, 8))
            for number in range(max(len(folded), 1)):
                shown = label if number == 0 else ""
                row = folded.row(number) if len(folded) else ""
                lines.append(Content.assemble((f"{shown:<{widest}}  ", label_style), (row, text_style)))
        return Content("\n").join(lines[: max(self.content_size.height, 1)])
