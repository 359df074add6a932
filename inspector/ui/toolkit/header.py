"""The first line: which session this is, how large, whether it grows, and how its tokens are known."""

from __future__ import annotations

from time import time
from typing import ClassVar, NamedTuple

from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from inspector.report.numbers import ABOUT, ON_SCREEN, age, elapsed, window_size
from inspector.safe_text import clip_cells, one_line
from inspector.session.files import LIVE_SECONDS
from inspector.ui.toolkit.one_line import LinePiece
from inspector.ui.toolkit.one_line import one_line as line_of

LIVE, STILL, GONE = "●", "○", "✕"
COLD = "cold"
LEAST_OF_TITLE = 20
"""Cells of a title that stay before another part of the line gives way."""

LOST = {"vanished": "file is gone", "replaced": "file was replaced", "unreadable": "file unreadable"}
"""What became of a file whose last reading is shown."""
LONGEST_TITLE = 48
SECONDS_COLD = 86_400
"""A cache that has been cold for longer is not told of: nobody expects it to be warm."""


class Heading(NamedTuple):
    """What the header says.

    Attributes:
        title: What the session is called; session text.
        model: The model of the newest call, and how many others there are; session text. Empty when unknown.
        window: Tokens of the model's context window, None when unknown.
        window_is_exact: The file says it; else it is estimated.
        messages: How many there are.
        calls: How many there are.
        tokens: How tokens are known, in a few words; empty before they are.
        state: `live`, `loading`, `not followed`, or what became of the file: a key of `LOST`.
        changed: Seconds since the epoch of the last change of the file, None when unknown.
        cold_at: When the prompt cache goes cold, seconds since the epoch; None when unknown.
        warm_call: What the next call costs until then, dollars; empty without a price.
        cold_call: What it costs from then on.
    """

    title: str
    model: str = ""
    window: int | None = None
    window_is_exact: bool = True
    messages: int = 0
    calls: int = 0
    tokens: str = ""
    state: str = "loading"
    changed: float | None = None
    cold_at: float | None = None
    warm_call: str = ""
    cold_call: str = ""


def cache_in_words(heading: Heading, now: float) -> tuple[str, str]:
    """How the prompt cache of a session that is followed stands, and the same in few letters; empty for nothing.

    Args:
        heading: What is known.
        now: Seconds since the epoch; 0 while that is unknown.
    """
    if heading.cold_at is None or not now or heading.state != "live" or now - heading.cold_at > SECONDS_COLD:
        return "", ""
    if now < heading.cold_at:
        left = elapsed(heading.cold_at - now)
        return f"cache warm {left}", f"warm {left}"
    if not heading.cold_call:
        return "cache cold", COLD
    return f"cache cold: next call {heading.cold_call} instead of {heading.warm_call}", f"{COLD} {heading.cold_call}"


class SessionHeader(Widget):
    """One row; what matters least gives way on narrow screens."""

    DEFAULT_CSS = """
    SessionHeader { height: 1; width: 1fr; padding: 0 1; }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"header--title", "header--faint", "header--live", "header--gone"}

    heading: reactive[Heading] = reactive(Heading(""))
    """What is shown."""
    now: reactive[float] = reactive(0.0)
    """Seconds since the epoch, for the age of the last change."""

    class TabChanged(Message):
        """The session it tells of has another name, or has been written."""

    def watch_heading(self, old: Heading, new: Heading) -> None:
        """Tell of what rows of tabs show too."""
        if (old.title, old.state, old.changed) != (new.title, new.state, new.changed):
            self.post_message(self.TabChanged())

    def on_mount(self) -> None:
        """Know the time from the first frame on: without it a session of last year would be live for a moment."""
        self.now = time()

    def render(self) -> Content:
        """The line."""
        heading = self.heading
        faint = self.get_visual_style("header--faint")
        title = clip_cells(one_line(heading.title), LONGEST_TITLE)
        model = Content(clip_cells(one_line(heading.model), 32))
        about = "" if heading.window_is_exact else ABOUT
        size = f"{about}{window_size(heading.window)} window" if heading.window else ""
        window = Content.styled(size, faint)
        counts = f"{ON_SCREEN.plural(heading.messages, 'message')}  {ON_SCREEN.plural(heading.calls, 'call')}"
        return line_of(
            [
                LinePiece(
                    Content.styled(title, self.get_visual_style("header--title")),
                    2,
                    least=LEAST_OF_TITLE,
                ),
                LinePiece(model, 3),
                LinePiece(window, 4),
                LinePiece(Content.styled(counts, faint) if heading.messages else Content(""), 6),
                self._cache(),
                LinePiece(self._state(), 1, right=True),
                LinePiece(Content.styled(heading.tokens, faint), 5, right=True),
            ],
            self.content_size.width,
        )

    def _cache(self) -> LinePiece:
        """For how long the prompt cache is warm, or what a call costs because it is not."""
        heading = self.heading
        said, short = cache_in_words(heading, self.now)
        style = self.get_visual_style("header--gone" if short.startswith(COLD) else "header--faint")
        return LinePiece(Content.styled(said, style), 3, right=True, shorter=Content.styled(short, style))

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
