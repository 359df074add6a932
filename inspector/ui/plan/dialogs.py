"""Dialogs about a plan: its difference from another plan, its use in an agent, and a strategy's list of tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import on
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from inspector.report.export import APPLY_METHODS, TITLES, AgentSupport, Exported, ExportError, export_plan
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import clip_cells, one_line, safe_text
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import DIFFERENCE, EXPORT, TOOLS
from inspector.ui.dialogs import Dialog, framed, key_words, move_in_list
from inspector.ui.plan.choices import ToolChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.strategies.plan import Plan
    from inspector.ui.plan.results import DifferenceRow


WIDEST_CELL = 24
GAP = 2


class DifferenceScreen(Dialog[None]):
    """Comparison over the main screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIFFERENCE)

    def __init__(
        self, here: str, there: str, figures: Sequence[DifferenceRow], settings: Sequence[DifferenceRow]
    ) -> None:
        """Create the screen.

        Args:
            here: Name of the plan on the screen.
            there: Name of the other plan.
            figures: Their figures.
            settings: Settings that differ.
        """
        super().__init__()
        self._names = here, there
        self._figures = figures
        self._settings = settings

    def compose(self) -> ComposeResult:
        here, there = self._names
        with VerticalScroll(classes="dialog section", id="difference") as box:
            box.border_title = Content(f"Plan {here} and plan {there}")
            box.border_subtitle = key_words(("esc closes", "dismiss"), (f"a switches to {there}", "swap"))
            yield Static(self._text(), markup=False)

    def _text(self) -> Content:
        here, there = self._names
        head = ("", f"plan {here}", f"plan {there}", f"change to {there}")
        lines = [*_table(head, self._figures), Content("")]
        if self._settings:
            lines += _table(("settings", f"plan {here}", f"plan {there}", ""), self._settings)
        else:
            lines.append(Content("Both have the same strategies and settings."))
        return Content("\n").join(lines)

    def action_swap(self) -> None:
        """Switch to the other plan."""
        self.dismiss(None)
        self.app.call_later(self.app.run_action, "screen.do('plan.swap')")


def _table(head: tuple[str, ...], rows: Sequence[DifferenceRow]) -> list[Content]:
    texts = [tuple(clip_cells(cell, WIDEST_CELL + 10 * (place == 0)) for place, cell in enumerate(row)) for row in rows]
    widths = [max(cell_len(cell) for cell in column) for column in zip(head, *texts, strict=True)]
    lines = [Content.styled(_line(head, widths), "bold")]
    return lines + [Content(_line(cells, widths)) for cells in texts]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Format a row: the name on the left, values right-aligned in their columns."""
    padded = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - cell_len(cell))
        padded.append(cell + blank if place == 0 else blank + cell)
    return (" " * GAP).join(padded).rstrip()


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
