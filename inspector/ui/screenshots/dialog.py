"""Saving a picture: the dialog that asks what of and where to, and what the key does on whatever screen is shown."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from inspector.session.overwrite_guard import problem_with_target
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import PICTURE
from inspector.ui.dialogs.dialog import Dialog, key_words
from inspector.ui.download import deliver_in_browser
from inspector.ui.screenshots.svg import (
    SUFFIX,
    PictureSubject,
    picture_of_chart,
    picture_of_screen,
    save_picture,
    suggested_path,
)
from inspector.ui.toolkit.choice_strip import Choices, ChoiceStrip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import App, ComposeResult
    from textual.binding import BindingType

    from inspector.ui.main.screen import InspectScreen


WORDS = {PictureSubject.SCREEN: "the screen", PictureSubject.CHART: "the context chart alone"}

HELP = "An SVG picture: any browser shows it, it scales without loss, and its text can be selected."


class PictureDialog(Dialog[tuple[PictureSubject, Path] | None]):
    """Answers what to draw and where to; None when it was called off."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PICTURE)

    def __init__(self, paths: Mapping[PictureSubject, Path]) -> None:
        """Make a dialog.

        Args:
            paths: What there may be a picture of, and where it goes unless the user says otherwise.
        """
        super().__init__()
        self._paths = paths
        self._subjects = tuple(paths)
        self._place = 0

    @property
    def subject(self) -> PictureSubject:
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


async def save_a_picture(app: App[Any], session_screen: InspectScreen | None) -> str:
    """Ask what to draw and where to, and save it.

    The screen is drawn first, so that the dialog is not on it.

    Args:
        app: The app.
        session_screen: The main screen, where a session is open.

    Returns:
        What to tell the user; empty when it was called off.

    Raises:
        OSError: The picture cannot be written.
    """
    pictures = {PictureSubject.SCREEN: picture_of_screen(app)}
    chart = None if session_screen is None else session_screen.chart.chart
    if session_screen is not None and chart is not None and chart.series is not None:
        pictures[PictureSubject.CHART] = picture_of_chart(chart, title=session_screen.header.heading.title)
    source = Path("sessions") if session_screen is None else session_screen.controller.path
    now = datetime.now().astimezone()
    paths = {subject: suggested_path(source, subject, now) for subject in pictures}
    answer = await app.push_screen_wait(PictureDialog(paths))
    if answer is None:
        return ""
    subject, path = answer
    if deliver_in_browser(app, pictures[subject], path, "image/svg+xml"):
        return "picture sent to the browser"
    return f"picture saved to {save_picture(pictures[subject], path)}"
