"""The header line: session title, model, size, state and prompt cache."""

from __future__ import annotations

from time import time
from typing import ClassVar, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ON_SCREEN, age, elapsed
from inspector.safe_text import clip_cells, one_line
from inspector.session.files import LIVE_SECONDS
from inspector.ui.outcome import level_of
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of

LIVE, STILL, GONE = "●", "○", "✕"
COLD = "cold"
LEAST_OF_TITLE = 20
"""Minimum width of the title before other parts are dropped, in cells."""

LOST = {"vanished": "file is gone", "replaced": "file was replaced", "unreadable": "file unreadable"}
"""States of a lost file that is still shown as last read."""
LONGEST_TITLE = 48
STATE_CELLS = 13
"""Width of the state: `○ idle 59 min`."""
CACHE_CELLS, SHORT_CACHE_CELLS = 16, 10
"""Width of the cache's long and short form while it is warm."""
SECONDS_COLD = 86_400
"""Maximum age of a cold cache shown: after a day it is expected to be cold."""


class Heading(NamedTuple):
    """Content of the header.

    Attributes:
        title: Title of the session; session text.
        model: Model of the latest call and number of other models; session text. Empty if unknown.
        priced_as: Model that prices every call although others answered; empty for the recorded models.
        fill: The next prompt's share of the size at which the agent compacts; None if unknown.
        is_elsewhere: True if the panes show an earlier call or a plan, so that `fill` needs a word of its own.
        events: Number of compactions and of avoidable cache misses, for the tabs.
        messages: Number of messages.
        calls: Number of calls.
        tokens: Why the token counts are estimates; empty if they are not.
        state: `live`, `loading`, `not followed`, or a key of `LOST`.
        changed: Time of the file's last change in seconds since the epoch, None if unknown.
        cold_at: Time when the prompt cache goes cold in seconds since the epoch; None if unknown.
        warm_call: Cost of the next call while the cache is warm, in dollars; empty without a price.
        cold_call: Cost of the next call after that.
    """

    title: str
    model: str = ""
    priced_as: str = ""
    fill: float | None = None
    is_elsewhere: bool = False
    events: tuple[int, int] = (0, 0)
    messages: int = 0
    calls: int = 0
    tokens: str = ""
    state: str = "loading"
    changed: float | None = None
    cold_at: float | None = None
    warm_call: str = ""
    cold_call: str = ""


def cache_in_words(heading: Heading, now: float) -> tuple[str, str]:
    """Describe a live session's prompt cache in a long and a short form; empty if not applicable or `now` is 0."""
    if heading.cold_at is None or not now or heading.state != "live" or now - heading.cold_at > SECONDS_COLD:
        return "", ""
    if now < heading.cold_at:
        left = elapsed(heading.cold_at - now)
        return f"cache warm {left}", f"warm {left}"
    if not heading.cold_call:
        return "cache cold", COLD
    return f"cache cold: next call {heading.cold_call} instead of {heading.warm_call}", f"{COLD} {heading.cold_call}"


class SessionHeader(Widget):
    """A line that drops its least important parts on narrow screens."""

    DEFAULT_CSS = """
    SessionHeader { height: 1; width: 1fr; padding: 0 1; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"header--title", "header--faint", "header--live", "header--gone"} | {
        f"header--{level}" for level in ("calm", "warning", "alarm")
    }

    heading: reactive[Heading] = reactive(Heading(""))
    now: reactive[float] = reactive(0.0)
    """Seconds since the epoch, for the age of the last change."""

    class TabChanged(Message):
        """Posted when the session's title or state, as shown in tabs, changed."""

    def watch_heading(self, old: Heading, new: Heading) -> None:
        """Notify the tabs if their content changed."""
        if (old.title, old.state, old.changed, old.fill, old.events) != (
            new.title,
            new.state,
            new.changed,
            new.fill,
            new.events,
        ):
            self.post_message(self.TabChanged())

    def on_mount(self) -> None:
        """Set the time before the first frame: otherwise an old session would look live for a moment."""
        self.now = time()

    def render(self) -> Content:
        heading = self.heading
        faint = self.get_visual_style("header--faint")
        title = clip_cells(one_line(heading.title), LONGEST_TITLE)
        counts = f"{ON_SCREEN.plural(heading.messages, 'message')}  {ON_SCREEN.plural(heading.calls, 'call')}"
        fill = "" if heading.fill is None else f"{heading.fill * 100:3.0f} %{' now' if heading.is_elsewhere else ''}"
        # The fields on the right have fixed widths, so that none moves when another one changes.
        return line_of(
            [
                LinePiece(Content.styled(title, self.get_visual_style("header--title")), 2, least=LEAST_OF_TITLE),
                self._priced_as(),
                LinePiece(Content.styled(fill, self.get_visual_style(f"header--{level_of(heading.fill)}")), right=True),
                LinePiece(Content(clip_cells(one_line(heading.model), 32)), 3, right=True),
                LinePiece(Content.styled(counts, faint) if heading.messages else Content(""), 6, right=True),
                self._cache(),
                LinePiece(self._padded(self._state()), 1, right=True),
                LinePiece(Content.styled(heading.tokens, faint), 5, right=True),
            ],
            self.content_size.width,
        )

    def _priced_as(self) -> LinePiece:
        """Render the model that prices every call."""
        model = clip_cells(one_line(self.heading.priced_as), 32)
        style = self.get_visual_style("header--gone")
        longer, shorter = (Content.styled(f"{word} {model}" if model else "", style) for word in ("priced as", "as"))
        return LinePiece(longer, 2, shorter=shorter)

    def _cache(self) -> LinePiece:
        """Render the time until the prompt cache goes cold, or the cost of a call with a cold cache."""
        heading = self.heading
        reported, short = cache_in_words(heading, self.now)
        style = self.get_visual_style("header--gone" if short.startswith(COLD) else "header--faint")
        return LinePiece(
            Content.styled(reported.ljust(CACHE_CELLS) if reported else "", style),
            3,
            right=True,
            shorter=Content.styled(short.ljust(SHORT_CACHE_CELLS) if short else "", style),
        )

    @staticmethod
    def _padded(state: Content) -> Content:
        return state + " " * max(STATE_CELLS - state.cell_length, 0) if state else state

    def _state(self) -> Content:
        heading = self.heading
        seconds = self.now - heading.changed if heading.changed is not None and self.now else 0.0
        match heading.state:
            case "live" if seconds > LIVE_SECONDS:
                return Content.assemble((STILL, self.get_visual_style("header--faint")), f" idle {age(seconds)}")
            case "live":
                return Content.assemble((LIVE, self.get_visual_style("header--live")), f" live {age(seconds)}")
            case state if state in LOST:
                return Content.assemble((GONE, self.get_visual_style("header--gone")), f" {LOST[state]}")
            case "":
                return Content("")
            case state:
                return Content.assemble((STILL, self.get_visual_style("header--faint")), f" {state}")
