"""A dialog that asks what of several things to save, and under which name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.content import Content
from textual.widgets import Input, Static

from inspector.session.files import expanded, is_file
from inspector.ui.dialogs.dialog import Dialog, framed
from inspector.ui.download import told_path
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult


class SaveChoice(NamedTuple):
    """Something that can be saved.

    Attributes:
        word: What it is called.
        help: What it is for, in a few lines; safe.
        path: Where it goes unless the user says otherwise; its ending is added to a name without one.
    """

    word: str
    help: str
    path: Path


class SaveDialog(Dialog[tuple[int, Path] | None]):
    """Answers the place of what is chosen and the file it goes to; None when it was called off."""

    def __init__(
        self, title: str, lead: str, choices: Sequence[SaveChoice], problem: Callable[[str], str], *, turns: str
    ) -> None:
        """Make a dialog.

        Args:
            title: What it asks.
            lead: What stands before the words of the choices: `as`.
            choices: What can be saved, the first of them chosen.
            problem: What is wrong with a name, to follow "that"; empty when nothing is.
            turns: What the key to another choice does, in words.
        """
        super().__init__()
        self._title, self._lead, self._turns = title, lead, turns
        self._choices = tuple(choices)
        self._problem = problem
        self._place = 0

    @property
    def _suggested(self) -> str:
        return told_path(self._choices[self._place].path)

    def compose(self) -> ComposeResult:
        """What, where to, and what is in the way of that."""
        turn = [(self._turns, "turn(1)")] if len(self._choices) > 1 else []
        with framed(self._title, *turn, ("enter saves", "answer"), ("esc cancels", "cancel")):
            yield ChoiceStrip()
            yield Static(Content(""), classes="dialog-help", markup=False)
            yield Input(self._suggested)
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        """Show what is chosen."""
        self._show()
        self.query_one(Input).focus()

    def _show(self) -> None:
        names = tuple((self._lead, choice.word) for choice in self._choices)
        self.query_one(ChoiceStrip).choices = Choices(names, self._place)
        self.query_one(".dialog-help", Static).update(Content(self._choices[self._place].help))

    def action_turn(self, step: int) -> None:
        """Another choice."""
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
        # A browser puts it where it likes. The folder is said by itself: a long line shows its end.
        remark = "" if self.app.is_web else f"in {told_path(path.parent)}"
        if is_file(path):
            remark = f"replaces {path}"
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
        """Take what was typed."""
        await self.query_one(Input).action_submit()
