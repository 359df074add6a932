"""Dialog for a strategy's list of tools: tools of the session, and others by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import TOOLS
from inspector.ui.dialogs.dialog import Dialog, framed, move_in_list
from inspector.ui.plan.tools import ToolChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType


WIDEST_NAME = 34


class ToolsDialog(Dialog[tuple[str, ...] | None]):
    """Dialog that returns the tools in the list, in order; None if cancelled."""

    DEFAULT_CSS = """
    ToolsDialog {
        #tools Input { border: none; height: 1; background: $panel; padding: 0 1; }
        #tools OptionList { height: auto; max-height: 14; margin: 1 0 0 0; border: none; background: $surface; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(TOOLS)

    def __init__(self, title: str, help_text: str, tools: Sequence[ToolChoice], chosen: Sequence[str]) -> None:
        """Create the dialog.

        Args:
            title: Title.
            help_text: Purpose of the list.
            tools: The session's tools.
            chosen: The current list; may name tools that are not in the session.
        """
        super().__init__()
        self._title = title
        self._help = help_text
        known = {tool.name for tool in tools}
        self._tools = [*tools, *(ToolChoice(name, 0) for name in chosen if name not in known)]
        self._chosen = dict.fromkeys(chosen)

    def compose(self) -> ComposeResult:
        with framed(
            self._title,
            ("enter or click switches", ""),
            ("ctrl+d applies", "accept"),
            ("esc cancels", "screen.cancel"),
            id="tools",
        ):
            yield Static(Content(self._help), classes="dialog-help", markup=False)
            yield Input(placeholder="find a tool, or type another name and press enter")
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(Input).focus()

    def _shown(self) -> list[ToolChoice]:
        wanted = self.query_one(Input).value.strip().lower()
        return [tool for tool in self._tools if wanted in tool.name.lower()]

    def _fill(self, highlighted: int = 0) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        for tool in self._shown():
            mark = "x" if tool.name in self._chosen else " "
            name = clip_cells(one_line(tool.name), WIDEST_NAME)
            where = "" if tool.name in self._chosen else tool.place
            count = ON_SCREEN.plural(tool.results, "result")
            prompt = Content.assemble((f"[{mark}] ", "bold"), Content(name), (f"  {count}  {where}", "dim"))
            options.add_option(Option(prompt))
        options.highlighted = min(highlighted, options.option_count - 1) if options.option_count else None

    @on(Input.Changed)
    def _filter(self) -> None:
        self._fill()

    @on(Input.Submitted)
    def _enter(self) -> None:
        """Switch the highlighted tool, or add a typed name that is not listed."""
        place = self.query_one(OptionList).highlighted
        box = self.query_one(Input)
        typed = box.value.strip()
        if place is not None:
            self._switch(place)
        elif typed:
            self._tools.append(ToolChoice(typed, 0))
            self._chosen[typed] = None
            box.value = ""

    @on(OptionList.OptionSelected)
    def _select(self, event: OptionList.OptionSelected) -> None:
        self._switch(event.option_index)

    def _switch(self, place: int) -> None:
        name = self._shown()[place].name
        if name in self._chosen:
            del self._chosen[name]
        else:
            self._chosen[name] = None
        self._fill(place)
        self.query_one(Input).focus()

    def action_move(self, places: int) -> None:
        """Move the highlight while the input line keeps the focus."""
        move_in_list(self.query_one(OptionList), places)

    def action_accept(self) -> None:
        """Close with the list."""
        self.dismiss(tuple(self._chosen))
