"""Dialogs: the base class, one for a value, one for a choice, and one with diagnostics of a file.

A click outside a dialog closes it, and the keys named in its frame are clickable.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from textual import events, on
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from inspector.safe_text import clip_cells, one_line, safe_text
from inspector.session.files import expand_user, is_file
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import DIAGNOSTICS, PICKER, VALUE
from inspector.ui.served import display_path
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip
from inspector.ui.toolkit.one_line import ACTION, clickable
from inspector.ui.toolkit.single_result_screen import SingleResultScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.ui.part_names import DialogChoice


Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer], SingleResultScreen[Answer]):
    """Modal screen that returns an answer, or None if closed without one."""

    DEFAULT_CSS = """
    Dialog {
        & > .dialog { width: 76; max-width: 95%; height: auto; max-height: 90%; }
        .dialog-help { color: $text-muted; margin-bottom: 1; }
        .dialog-problem { color: $error; height: auto; min-height: 1; }
        .dialog-problem.-remark { color: $warning; }
    }
    """

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked action; close the dialog on a click outside."""
        if action := event.style.meta.get(ACTION):
            event.stop()
            await self.run_action(action)
        elif event.widget is self:
            event.stop()
            if event.chain == 1:  # the second click of a double click is meant for the screen below
                self.action_cancel()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


def framed(title: str, *hints: tuple[str, str], id: str | None = None) -> Vertical:  # noqa: A002  Textual's own name
    """Build the frame of a dialog, for use in `compose`.

    Args:
        title: Title.
        hints: Key hints, see `key_words`.
        id: Widget id.
    """
    box = Vertical(classes="dialog section", id=id)
    box.border_title = Content(title)
    box.border_subtitle = key_words(*hints)
    return box


def move_in_list(options: OptionList, places: int) -> None:
    """Move the highlight one entry up or down while another widget has the focus."""
    if places > 0:
        options.action_cursor_down()
    else:
        options.action_cursor_up()


def key_words(*hints: tuple[str, str]) -> Content:
    """Build clickable key hints for the frame of a dialog.

    Args:
        hints: Pairs of a text and the action run on a click; empty for no action.
    """
    return Content(" · ").join([clickable(text, action) for text, action in hints])


class ValueDialog(Dialog[str | None]):
    """Dialog for a line of text. Returns None if cancelled."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(VALUE)

    def __init__(
        self,
        title: str,
        help_text: str,
        value: str,
        check: Callable[[str], str] | None = None,
        *,
        remark: Callable[[str], str] | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            title: Title.
            help_text: Description of valid input.
            value: Initial text.
            check: Returns a one-line error for a text; empty if valid.
            remark: Returns a one-line consequence of a valid text; empty if obvious.
        """
        super().__init__()
        self._title = title
        self._help = help_text
        self._value = value
        self._check = check
        self._remark = remark

    def compose(self) -> ComposeResult:
        with framed(self._title, ("enter applies", "answer"), ("esc cancels", "screen.cancel")):
            yield Static(Content(self._help), classes="dialog-help", markup=False)
            yield Input(self._value, select_on_focus=True)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _check_answer(self, event: Input.Changed) -> None:
        problem = self._check(event.value) if self._check else ""
        remark = self._remark(event.value) if self._remark and not problem else ""
        below = self.query_one(".dialog-problem", Static)
        below.set_class(not problem, "-remark")
        below.update(Content(one_line(problem or remark)))

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        if not (self._check and self._check(event.value)):
            self.dismiss(event.value)

    async def action_answer(self) -> None:
        """Accept the text."""
        await self.query_one(Input).action_submit()


SAME_IN_PRINT = "inspector formats FILE prints the same"


class DiagnosticsScreen(Dialog[None]):
    """Page of plain text over the screen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(DIAGNOSTICS)

    def __init__(self, text: str, title: str = "How the file was read", also: str = SAME_IN_PRINT) -> None:
        """Create the page.

        Args:
            text: Content; safe and wrapped.
            title: Title.
            also: Command that prints the same.
        """
        super().__init__()
        self._text, self._title, self._also = text, title, also

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog section", id="diagnostics") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = key_words(("esc closes", "dismiss"), (self._also, ""))
            yield Static(Content(self._text), markup=False)


class SaveChoice(NamedTuple):
    """Something that can be saved.

    Attributes:
        word: Display name.
        help: Purpose, in a few lines; safe.
        path: Suggested path; its suffix is added to a name without one.
    """

    word: str
    help: str
    path: Path


class SaveDialog(Dialog[tuple[int, Path] | None]):
    """Dialog that returns the index of the choice and the path; None if cancelled."""

    def __init__(
        self, title: str, lead: str, choices: Sequence[SaveChoice], problem: Callable[[str], str], *, turns: str
    ) -> None:
        """Create the dialog.

        Args:
            title: Title.
            lead: Word before the names of the choices, such as `as`.
            choices: Things that can be saved; the first one is selected.
            problem: Returns why a name is invalid, to follow "that"; empty if valid.
            turns: Label of the key that switches to another choice.
        """
        super().__init__()
        self._title, self._lead, self._turns = title, lead, turns
        self._choices = tuple(choices)
        self._problem = problem
        self._place = 0

    @property
    def _suggested(self) -> str:
        return display_path(self._choices[self._place].path)

    def compose(self) -> ComposeResult:
        turn = [(self._turns, "turn(1)")] if len(self._choices) > 1 else []
        with framed(self._title, *turn, ("enter saves", "answer"), ("esc cancels", "cancel")):
            yield ChoiceStrip()
            yield Static(Content(""), classes="dialog-help", markup=False)
            yield Input(self._suggested)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.query_one(Input).focus()

    def _show(self) -> None:
        names = tuple((self._lead, choice.word) for choice in self._choices)
        self.query_one(ChoiceStrip).choices = Choices(names, self._place)
        self.query_one(".dialog-help", Static).update(Content(self._choices[self._place].help))

    def action_turn(self, step: int) -> None:
        """Select another choice."""
        self._choose((self._place + step) % len(self._choices))

    @on(ChoiceStrip.Chosen)
    def _chosen(self, event: ChoiceStrip.Chosen) -> None:
        self._choose(event.place)

    def _choose(self, place: int) -> None:
        line = self.query_one(Input)
        before, is_suggested = self._choices[self._place].path.suffix, line.value == self._suggested
        self._place = place
        if is_suggested:
            line.value = self._suggested
        elif Path(line.value).suffix == before:
            line.value = str(Path(line.value).with_suffix(self._choices[place].path.suffix))
        self._show()

    @on(Input.Changed)
    def _judge(self, event: Input.Changed) -> None:
        problem, path = self._problem(event.value), expand_user(event.value)
        # A browser chooses the folder itself. The folder is shown separately because a long line only shows its end.
        remark = "" if self.app.is_web else f"in {display_path(path.parent)}"
        if is_file(path):
            remark = f"overwrites {path}"
        below = self.query_one(".dialog-problem", Static)
        below.set_class(not problem, "-remark")
        below.update(Content(f"that {problem}" if problem else remark))

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        if not self._problem(event.value):
            path = expand_user(event.value)
            suffix = self._choices[self._place].path.suffix
            self.dismiss((self._place, path if path.suffix else path.with_suffix(suffix)))

    async def action_answer(self) -> None:
        """Accept the path."""
        await self.query_one(Input).action_submit()


NAME_WIDTH = 27


class Picker(Dialog[str | None]):
    """Dialog that returns the identifier of a choice, or None if cancelled."""

    DEFAULT_CSS = """
    Picker {
        #picker Input { border: none; height: 1; background: $panel; padding: 0 1; }
        #picker OptionList {
            height: 1fr;
            margin: 1 0;
            border: none;
            background: $surface;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }
        #picker-help { height: 6; margin-bottom: 0; }
        &.-short #picker-help { height: 4; }
    }
    """

    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-medium")]  # noqa: RUF012  as Textual declares it

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICKER)

    def __init__(
        self,
        title: str,
        choices: Sequence[DialogChoice],
        *,
        verb: str = "selects",
        hint: str = "filter",
        typed: Callable[[str], DialogChoice | None] | None = None,
    ) -> None:
        """Create the list.

        Args:
            title: Title.
            choices: Entries in display order.
            verb: Effect of `enter`.
            hint: Placeholder of the filter line.
            typed: Returns a choice for typed text that is not listed, for example a path; None if the text is not one.
        """
        super().__init__()
        self._title = title
        self._choices = choices
        self._verb = verb
        self._hint = hint
        self._typed = typed
        self._shown: list[DialogChoice] = []

    def compose(self) -> ComposeResult:
        with framed(
            self._title, ("type to filter", ""), (f"enter {self._verb}", "take"), ("esc cancels", "cancel"), id="picker"
        ):
            yield Input(placeholder=self._hint)
            yield OptionList(markup=False)
            yield Static(Content(""), classes="dialog-help", id="picker-help", markup=False)

    def on_mount(self) -> None:
        self._fill("")
        self.query_one(Input).focus()

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        self._shown = [each for each in self._choices if _matches(each, words)]
        typed = self._typed(wanted.strip()) if self._typed is not None and wanted.strip() else None
        if typed is not None:
            self._shown.insert(0, typed)
        options = self.query_one(OptionList)
        options.clear_options()
        for each in self._shown:
            name = clip_cells(one_line(each.name), NAME_WIDTH)
            prompt = Content.assemble((f"{name:<{NAME_WIDTH}} ", "bold"), (one_line(each.title), "dim"))
            options.add_option(Option(prompt))
        options.highlighted = 0 if self._shown else None
        self._explain(0)

    def _explain(self, place: int) -> None:
        text = self._shown[place].help if place < len(self._shown) else "no match"
        self.query_one("#picker-help", Static).update(Content(safe_text(text)))

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._explain(event.option_index)

    @on(Input.Submitted)
    def _choose_highlighted(self) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None:
            self.dismiss(self._shown[place].identifier)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index].identifier)

    def action_move(self, places: int) -> None:
        """Move the highlight while the filter keeps the focus."""
        move_in_list(self.query_one(OptionList), places)

    async def action_page(self, pages: int) -> None:
        """Move by a page. Does nothing if the list has no room, because Textual would fail on its missing lines."""
        choices = self.query_one(OptionList)
        if choices.scrollable_content_region:
            await choices.run_action("page_down" if pages > 0 else "page_up")

    def action_take(self) -> None:
        """Select the highlighted entry."""
        self._choose_highlighted()


def _matches(choice: DialogChoice, words: Sequence[str]) -> bool:
    text = f"{choice.identifier} {choice.name} {choice.title} {choice.help}".lower()
    return all(word in text for word in words)
