"""Dialog to choose one of several things to save, and its path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.content import Content
from textual.widgets import Input, Static

from inspector.session.files import expanded, is_file
from inspector.ui.dialogs.dialog import Dialog, framed
from inspector.ui.download import display_path
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult


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
        problem, path = self._problem(event.value), expanded(event.value)
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
            path = expanded(event.value)
            suffix = self._choices[self._place].path.suffix
            self.dismiss((self._place, path if path.suffix else path.with_suffix(suffix)))

    async def action_answer(self) -> None:
        """Accept the path."""
        await self.query_one(Input).action_submit()
