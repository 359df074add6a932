"""A row of names to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

if TYPE_CHECKING:
    from textual import events

_PLACE = "inspector_choice"

MORE_LEFT, MORE_RIGHT = "«", "»"


@dataclass(frozen=True, slots=True)
class Choices:
    """The names to choose from.

    Attributes:
        names: Group and name of each; adjacent equal groups are shown once, empty ones not at all.
        chosen: Index of the chosen name, -1 for none.
        second: Index of a second marked name, -1 for none.
    """

    names: tuple[tuple[str, str], ...] = ()
    chosen: int = -1
    second: int = -1


class ChoiceStrip(Widget):
    """`tiered-stale: confirmation  action  data`: a click chooses. Keys are handled by the screen."""

    DEFAULT_CSS = """
    ChoiceStrip {
        height: 1;
        width: 1fr;
        padding: 0 1;
        & > .strip--group { color: $text-muted; }
        & > .strip--name { color: $foreground; }
        & > .strip--chosen { color: $primary; text-style: bold underline; }
        & > .strip--second { color: $text-accent; text-style: bold underline; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"strip--group", "strip--name", "strip--chosen", "strip--second"}

    choices: reactive[Choices] = reactive(Choices())

    @dataclass
    class Chosen(Message):
        """Posted when a name is clicked."""

        place: int

    def render(self) -> Content:
        pieces: list[Content] = []
        before = ""
        for place, (group, name) in enumerate(self.choices.names):
            click = Style.from_meta({_PLACE: place})
            parts = []
            if group != before:
                parts.append((f"{group}: ", self.get_visual_style("strip--group")))
                before = group
            parts.append((name.replace("-", " "), self.get_visual_style(self._style(place)) + click))
            pieces.append(Content.assemble(*parts))
        return self._fitted(pieces)

    def _style(self, place: int) -> str:
        if place == self.choices.chosen:
            return "strip--chosen"
        return "strip--second" if place == self.choices.second else "strip--name"

    def _fitted(self, pieces: list[Content]) -> Content:
        width, gap = self.content_size.width, Content("  ")
        first = 0
        marker = Content.styled(f"{MORE_LEFT} ", self.get_visual_style("strip--group"))

        def line(start: int) -> Content:
            return (marker if start else Content("")) + gap.join(pieces[start:])

        last = max(self.choices.chosen, self.choices.second)
        while first < last and (marker + gap.join(pieces[first : last + 1])).cell_length > width - 2:
            first += 1
        shown = line(first)
        if shown.cell_length <= width:
            return shown
        more = Content.styled(f" {MORE_RIGHT}", self.get_visual_style("strip--group"))
        return shown.truncate(width - 2, pad=True) + more

    def on_click(self, event: events.Click) -> None:
        place = event.style.meta.get(_PLACE)
        if isinstance(place, int):
            self.post_message(self.Chosen(place))
