"""The dialog that asks what to make a picture of, and where to save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from inspector.session.overwrite_guard import problem_with_target
from inspector.ui.pictures import SUFFIX, Subject
from inspector.ui.screens.dialog import Dialog, key_words
from inspector.ui.widgets.choice_strip import Choices, ChoiceStrip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

WORDS = {Subject.SCREEN: "the screen", Subject.CHART: "the context chart alone"}

HELP = "An SVG picture: any browser shows it, it scales without loss, and its text can be selected."


class PictureDialog(Dialog[tuple[Subject, Path] | None]):
    """Answers what to draw and where to; None when it was called off."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="picture.cancel", tooltip="Leave everything as it was"),
        Binding("tab,shift+tab", "turn", "Other", id="picture.turn", tooltip="Make it of the other", priority=True),
    ]

    def __init__(self, paths: Mapping[Subject, Path]) -> None:
        """Make a dialog.

        Args:
            paths: What there may be a picture of, and where it goes unless the user says otherwise.
        """
        super().__init__()
        self._paths = paths
        self._subjects = tuple(paths)
        self._place = 0

    @property
    def subject(self) -> Subject:
        """What is chosen."""
        return self._subjects[self._place]

    def compose(self) -> ComposeResult:
        """What of, where to, and what is in the way of that."""
        with Vertical(classes="dialog section") as box:
            box.border_title = Content("Save a picture")
            box.border_subtitle = key_words(
                *([("tab changes", "turn")] if len(self._subjects) > 1 else []),
                ("enter saves", "answer"),
                ("esc cancels", "cancel"),
            )
            yield ChoiceStrip()
            yield Static(Content(HELP), classes="dialog-help", markup=False)
            yield Input(str(self._paths[self.subject]))
            yield Static(Content(""), classes="dialog-problem", markup=False)

    def on_mount(self) -> None:
        """Show what is chosen."""
        self._show()
        self.query_one(Input).focus()

    def _show(self) -> None:
        names = tuple(("of", WORDS[subject]) for subject in self._subjects)
        self.query_one(ChoiceStrip).choices = Choices(names, self._place)

    def action_turn(self) -> None:
        """The other subject."""
        self._choose((self._place + 1) % len(self._subjects))

    @on(ChoiceStrip.Chosen)
    def _chosen(self, event: ChoiceStrip.Chosen) -> None:
        self._choose(event.place)

    def _choose(self, place: int) -> None:
        is_suggested = self.query_one(Input).value == str(self._paths[self.subject])
        self._place = place
        if is_suggested:
            self.query_one(Input).value = str(self._paths[self.subject])
        self._show()

    @on(Input.Changed)
    def _judge(self, event: Input.Changed) -> None:
        problem = problem_with_picture(event.value)
        self.query_one(".dialog-problem", Static).update(Content(f"that {problem}" if problem else ""))

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        if not problem_with_picture(event.value):
            self.dismiss((self.subject, Path(event.value)))

    async def action_answer(self) -> None:
        """Take what was typed."""
        await self.query_one(Input).action_submit()

    def action_cancel(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


def problem_with_picture(text: str) -> str:
    """Why a picture cannot be saved under a name; empty when it can."""
    if not text.strip():
        return "is no name"
    path = Path(text).expanduser()
    if path.suffix.lower() not in ("", SUFFIX):
        return f"is no {SUFFIX} file; name one"
    return problem_with_target(path)
