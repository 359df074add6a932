"""Dialog to use the plan in an agent: whether it can apply the plan, the exported text, and keys to save or copy it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from inspector.report.export import APPLY_METHODS, TITLES, AgentSupport, Exported, ExportError, export_plan
from inspector.safe_text import safe_text
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import EXPORT
from inspector.ui.dialogs.dialog import Dialog, framed

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.strategies.plan import Plan

ENDINGS = {"python": ".py", "sh": ".sh", "json": ".json", "yaml": ".yaml", "toml": ".toml", "rust": ".rs"}

UNSUPPORTED = "✗"


@dataclass(frozen=True, slots=True)
class Export:
    """Text to export.

    Attributes:
        text: The text.
        file_name: Suggested file name.
        is_copied: True to copy it to the clipboard instead of saving it.
    """

    text: str
    file_name: str
    is_copied: bool = False


class ExportScreen(Dialog[Export | None]):
    """Dialog that returns the text to save or copy; None if cancelled."""

    DEFAULT_CSS = """
    ExportScreen {
        #export-answer { margin: 0 1 1 1; }
        #export Horizontal { height: 1fr; }
        #export OptionList { width: 27; height: 1fr; border: none; background: $surface; padding: 0; }
        #export-preview { width: 1fr; height: 1fr; padding: 0 1; }
        #export-text { width: 1fr; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(EXPORT)

    def __init__(self, plan: Plan, answer: AgentSupport) -> None:
        """Create the screen.

        Args:
            plan: Plan to export; strategies that are off are left out.
            answer: Whether the session's agent can apply it.
        """
        super().__init__()
        self._answer = answer
        self._made = {name: _made(plan, name) for name in TITLES}

        def place(name: str) -> tuple[bool, int, bool]:
            fits = answer.names.index(name) if name in answer.names else len(answer.names)
            return not isinstance(self._made[name], Exported), fits, name not in APPLY_METHODS

        self._names = sorted(TITLES, key=place)

    def compose(self) -> ComposeResult:
        """Compose the answer, the list of targets on the left and the exported text on the right."""
        with (
            framed(
                "Use the plan in an agent",
                ("enter saves", "save"),
                ("y copies", "copy"),
                ("page keys scroll", ""),
                ("esc closes", "dismiss"),
                (f"{UNSUPPORTED} not possible", ""),
                id="export",
            ),
        ):
            yield Static(Content(safe_text(self._answer.in_full)), id="export-answer", markup=False)
            with Horizontal():
                yield OptionList(*map(self._option, self._names), markup=False)
                with VerticalScroll(id="export-preview", can_focus=False):
                    yield Static(Content(""), classes="dialog-help", id="export-where", markup=False)
                    yield Static(Content(""), id="export-text", markup=False)

    def on_mount(self) -> None:
        """Select the best target for the session's agent."""
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()
        self._show(0)

    def _option(self, name: str) -> Option:
        says = isinstance(self._made[name], Exported)
        return Option(Content.styled(f"{' ' if says else UNSUPPORTED} {name}", "" if says else "dim"))

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._show(event.option_index)

    def _show(self, place: int) -> None:
        made = self._made[self._names[place]]
        where, text = self.query_one("#export-where", Static), self.query_one("#export-text", Static)
        if isinstance(made, Exported):
            left_out = [f"left out: {sentence}" for sentence in made.left_out]
            where.update(Content(safe_text("\n".join([TITLES[self._names[place]], made.where, *left_out]))))
            text.update(Content(safe_text(made.text)))
        else:
            where.update(Content(safe_text(made)))
            text.update(Content(""))
        self.query_one("#export-preview", VerticalScroll).scroll_home(animate=False)

    def _chosen(self, *, is_copied: bool) -> Export | None:
        name = self._names[self.query_one(OptionList).highlighted or 0]
        made = self._made[name]
        if not isinstance(made, Exported):
            return None
        return Export(made.text, f"{name}{ENDINGS.get(made.language, '.txt')}", is_copied)

    @on(OptionList.OptionSelected)
    def action_save(self) -> None:
        """Close with the text to save."""
        chosen = self._chosen(is_copied=False)
        if chosen is not None:
            self.dismiss(chosen)

    def action_copy(self) -> None:
        """Close with the text to copy."""
        chosen = self._chosen(is_copied=True)
        if chosen is not None:
            self.dismiss(chosen)

    def action_scroll(self, pages: int) -> None:
        """Scroll the preview."""
        preview = self.query_one("#export-preview", VerticalScroll)
        preview.scroll_relative(y=pages * max(preview.size.height - 1, 1), animate=False)


def _made(plan: Plan, name: str) -> Exported | str:
    """Export the plan for a target, or return the reason for a failure."""
    try:
        return export_plan(plan, name)
    except ExportError as error:
        return str(error)
