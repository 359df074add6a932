"""The last line: what the keys do here, what is being worked on, and how much of the session is shown."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import one_line
from inspector.ui.toolkit.one_line import ACTION, LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of

if TYPE_CHECKING:
    from textual import events

PROGRESS_CELLS = 12
_PRESS = "inspector_press"
"""Says in a cell which key a click on it presses."""

ATTENTION = "!"
TOLD = "»"
"""Begins a notice that is no problem."""


class KeyHint(NamedTuple):
    """A key, and what it does.

    Attributes:
        key: As shown.
        label: What it does, in a word.
        press: As Textual names it, several with blanks between them: what a click presses.
        rank: The highest gives way first.
    """

    key: str
    label: str
    press: str
    rank: int = 9


class WorkProgress(NamedTuple):
    """Work under way.

    Attributes:
        what: In a word or two: `counting tokens`.
        fraction: How much of it is done, 0 to 1.
        stop: How to stop it; empty when it cannot be.
    """

    what: str
    fraction: float
    stop: str = ""


class Standing(NamedTuple):
    """How much of the session is shown.

    Attributes:
        follows: New rows are scrolled to as they come.
        rows: Rows of the timeline.
        hidden: Rows a filter hides.
        skipped: Records of the file that could not be read.
        new: Rows added below since following stopped.
        moment: Which call is looked at; empty for the present.
        short_moment: The same where there is little room.
    """

    follows: bool = False
    rows: int = 0
    hidden: int = 0
    skipped: int = 0
    new: int = 0
    moment: str = ""
    short_moment: str = ""


class StatusBar(Widget):
    """One row. A notice takes the place of the keys."""

    DEFAULT_CSS = """
    StatusBar { height: 1; width: 1fr; padding: 0 1; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "status--key",
        "status--label",
        "status--follow",
        "status--new",
        "status--faint",
        "status--attention",
        "status--told",
        "status--done",
        "status--rest",
    }

    keys: reactive[tuple[KeyHint, ...]] = reactive(())
    """What to press here, the most useful first."""
    standing: reactive[Standing | None] = reactive[Standing | None](None)
    """How much of a session is shown; None where there are no rows to count."""
    progress: reactive[WorkProgress | None] = reactive(None)
    """Work under way."""
    notice: reactive[str] = reactive("")
    """Something the user should know; may hold session text."""
    is_problem: reactive[bool] = reactive(False)
    """The notice is of something that went wrong."""

    def tell(self, notice: str, *, is_problem: bool = False) -> None:
        """Give a notice; an empty one takes it away."""
        self.notice, self.is_problem = notice, is_problem

    def render(self) -> Content:
        """The line."""
        parts = [LinePiece(self._progress_content(), 1)]
        if self.notice:
            style = self.get_visual_style("status--attention" if self.is_problem else "status--told")
            glyph = ATTENTION if self.is_problem else TOLD
            parts.append(LinePiece(Content.styled(f"{glyph} {one_line(self.notice)}", style)))
        else:
            key, label = self.get_visual_style("status--key"), self.get_visual_style("status--label")
            parts += [LinePiece(_key_content(hint, key, label), hint.rank) for hint in self.keys]
        if self.standing is not None:
            parts += self._standing_parts(self.standing)
        return line_of(parts, self.content_size.width, gap=2)

    def _standing_parts(self, standing: Standing) -> list[LinePiece]:
        parts = []
        follow = Content.styled(" FOLLOW ", self.get_visual_style("status--follow"))
        faint = self.get_visual_style("status--faint")
        to_now = Style.from_meta({ACTION: "do('call.now')"})
        if standing.moment:
            style = self.get_visual_style("status--new") + to_now
            told, short = (Content.styled(f" {text} ", style) for text in (standing.moment, standing.short_moment))
            parts.append(LinePiece(told, 2, right=True, shorter=short))
        if standing.new:
            pill = f" {ON_SCREEN.whole(standing.new)} new below: end follows "
            shorter = f" +{ON_SCREEN.short(standing.new)} "
            style = self.get_visual_style("status--new") + to_now
            parts.append(LinePiece(Content.styled(pill, style), 2, right=True, shorter=Content.styled(shorter, style)))
        parts += [
            LinePiece(follow if standing.follows else Content(""), 1, right=True),
            LinePiece(Content.styled(f"rows {ON_SCREEN.whole(standing.rows)}", faint), 6, right=True),
            LinePiece(
                Content.styled(
                    f"hidden {ON_SCREEN.whole(standing.hidden)}", faint + Style.from_meta({ACTION: "show_all"})
                ),
                # That nothing is hidden matters less than how to switch a strategy on, or what fills the window.
                8 if not standing.hidden else 2,
                right=True,
            ),
        ]
        if standing.skipped:
            skipped = f"{ATTENTION} {ON_SCREEN.plural(standing.skipped, 'record')} unreadable"
            shorter = f"{ATTENTION} {ON_SCREEN.short(standing.skipped)} unreadable"
            style = self.get_visual_style("status--attention") + Style.from_meta({ACTION: "do('session.diagnostics')"})
            parts.append(
                LinePiece(Content.styled(skipped, style), 2, right=True, shorter=Content.styled(shorter, style))
            )
        return parts

    async def on_click(self, event: events.Click) -> None:
        """A click on a key presses it; one on anything else does what is nearest to it."""
        if press := event.style.meta.get(_PRESS):
            for key in press.split():
                self.app.simulate_key(key)
        elif action := event.style.meta.get(ACTION):
            await self.screen.run_action(action)

    def _progress_content(self) -> Content:
        progress = self.progress
        if progress is None:
            return Content("")
        done = round(min(max(progress.fraction, 0), 1) * PROGRESS_CELLS)
        stops = Style.from_meta({_PRESS: "escape"})
        return Content.assemble(
            f"{progress.what} ",
            ("━" * done, self.get_visual_style("status--done")),
            ("─" * (PROGRESS_CELLS - done), self.get_visual_style("status--rest")),
            f" {progress.fraction * 100:.0f} %",
            (f"  {progress.stop}" if progress.stop else "", self.get_visual_style("status--faint") + stops),
        )


@lru_cache(maxsize=256)
def _key_content(hint: KeyHint, key: Style, label: Style) -> Content:
    """A key and what it does, to be clicked; drawn with every row that is added."""
    click = Style.from_meta({_PRESS: hint.press})
    return Content.assemble((hint.key, key + click), (f" {hint.label}", label + click))
