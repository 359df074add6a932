"""The help screen: what the keys do where the focus was, and what the signs on the screen mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from inspector.ui.help import HelpSection

SIGNS = (
    ("█", "tokens sent"),
    ("░", "tokens the plan cut away"),
    ("╌", "recorded, but not in this call's prompt: compacted away, another thread, or still to come"),
    ("▶", "the row the cursor is on"),
    ("exact", "reported by the provider"),
    ("calibrated", "our count, fitted to what the provider reported for this session"),
    ("estimated", "our count alone, or what is usual; ≈ before a size says the same"),
    ("projected", "about calls that did not happen"),
    ("cache rebuilds", "what it costs to send again what a change put out of the provider's cache; within the saving"),
    (
        "used what was cut",
        "calls that wrote a telling word found only in a cut result, or made its call again: a proxy",
    ),
    ("pays off from", "the call from which the plan has cost less in all, and stays cheaper to the end"),
)


class HelpScreen(ModalScreen[None]):
    """Shown over the screen it explains."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,f1", "dismiss", "Close", id="help.close", tooltip="Back to where you were"),
    ]

    def __init__(self, sections: Sequence[HelpSection]) -> None:
        """Make a help screen.

        Args:
            sections: What the keys do, the focused part first.
        """
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        """Everything in one scrolled text."""
        with VerticalScroll(classes="dialog section", id="help") as box:
            box.border_title = Content("Help")
            box.border_subtitle = Content("esc closes · ctrl+p finds every command by name")
            yield Static(self._text(), markup=False)

    def _text(self) -> Content:
        lines: list[Content] = []
        widest = max((len(row.keys) for section in self._sections for row in section.rows), default=0)
        for section in self._sections:
            lines.append(Content.styled(section.title, "bold $accent"))
            if section.text:
                lines.append(Content.styled(section.text, "$text-muted"))
            lines.extend(
                Content.assemble((f"  {row.keys:<{widest}}  ", "bold"), row.text, (f"  {row.name}", "$text-disabled"))
                for row in section.rows
            )
            lines.append(Content(""))
        lines.append(Content.styled("Signs and words", "bold $accent"))
        lines.extend(Content.assemble((f"  {sign:<18}  ", "bold"), meaning) for sign, meaning in SIGNS)
        return Content("\n").join(lines)
