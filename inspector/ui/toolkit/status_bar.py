"""The status bar: key hints, progress, and counts of the visible rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual.content import Content
from textual.notifications import Notification
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
"""Style meta key with the key pressed by a click."""

ATTENTION = "!"
NOTICE_PREFIX = "»"
"""Prefix of a notice that is not a problem."""


class KeyHint(NamedTuple):
    """A key and its effect.

    Attributes:
        key: The key as shown.
        label: Its effect, in a word.
        press: Textual's key names, separated by blanks, pressed by a click.
        rank: The highest is dropped first.
    """

    key: str
    label: str
    press: str
    rank: int = 9


class WorkProgress(NamedTuple):
    """Work in progress.

    Attributes:
        what: One or two words: `counting tokens`.
        fraction: Completed fraction, 0 to 1.
        stop: Hint on how to stop it; empty if it cannot be stopped.
    """

    what: str
    fraction: float
    stop: str = ""


class StatusCounts(NamedTuple):
    """Counts of the session's rows.

    Attributes:
        follows: Scroll to new rows as they arrive.
        skipped: Number of unreadable records in the file.
        new: Rows added below since following stopped.
        unknown: Number of records and usage fields that this version does not know.
    """

    follows: bool = False
    skipped: int = 0
    new: int = 0
    unknown: int = 0


class StatusBar(Widget):
    """A line with key hints, replaced by a notice if there is one."""

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
    """Key hints by importance."""
    counts: reactive[StatusCounts | None] = reactive[StatusCounts | None](None)
    progress: reactive[WorkProgress | None] = reactive(None)
    notice: reactive[str] = reactive("")
    is_problem: reactive[bool] = reactive(False)

    def show_notice(self, notice: str, *, is_problem: bool = False) -> None:
        self.notice, self.is_problem = notice, is_problem

    def render(self) -> Content:
        parts = [LinePiece(self._progress_content(), 1)]
        if self.notice:
            style = self.get_visual_style("status--attention" if self.is_problem else "status--told")
            glyph = ATTENTION if self.is_problem else NOTICE_PREFIX
            parts.append(LinePiece(Content.styled(f"{glyph} {one_line(self.notice)}", style)))
        else:
            key, label = self.get_visual_style("status--key"), self.get_visual_style("status--label")
            parts += [LinePiece(_key_content(hint, key, label), hint.rank) for hint in self.keys]
        if self.counts is not None:
            parts += self._counts_parts(self.counts)
        return line_of(parts, self.content_size.width, gap=2)

    def _counts_parts(self, counts: StatusCounts) -> list[LinePiece]:
        parts = []
        follow = Content.styled(" FOLLOW ", self.get_visual_style("status--follow"))
        to_now = Style.from_meta({ACTION: "do('call.now')"})
        if counts.new:
            pill = f" {ON_SCREEN.whole(counts.new)} new below (end follows) "
            shorter = f" +{ON_SCREEN.short(counts.new)} "
            style = self.get_visual_style("status--new") + to_now
            parts.append(LinePiece(Content.styled(pill, style), 2, right=True, shorter=Content.styled(shorter, style)))
        parts.append(LinePiece(follow if counts.follows else Content(""), 1, right=True))
        for count, problem in ((counts.skipped, "unreadable"), (counts.unknown, "unknown")):
            if not count:
                continue
            problems = f"{ATTENTION} {ON_SCREEN.plural(count, 'record')} {problem}"
            shorter = f"{ATTENTION} {ON_SCREEN.short(count)} {problem}"
            style = self.get_visual_style("status--attention") + Style.from_meta({ACTION: "do('session.diagnostics')"})
            parts.append(
                LinePiece(Content.styled(problems, style), 2, right=True, shorter=Content.styled(shorter, style))
            )
        return parts

    async def on_click(self, event: events.Click) -> None:
        """Press the clicked key, or run the action of the clicked part."""
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
    """Build a clickable key hint; cached, because it is drawn with every added row."""
    click = Style.from_meta({_PRESS: hint.press})
    return Content.assemble((hint.key, key + click), (f" {hint.label}", label + click))


SHORTEST: Final = 0.01


@dataclass
class CornerNotice(Notification):
    """A notification that may already have expired when it is shown.

    That happens if the program was held up by the terminal, a busy machine or the computer's sleep. Textual's toast
    sets a timer for the remaining time, and with a negative one the app hangs (`Timer._run` of textual 8.2.8).
    """

    @property
    def time_left(self) -> float:
        """Seconds until it disappears, always positive."""
        return max(super().time_left, SHORTEST)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0
