"""The detail widget: one block's text of any length, in several views."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from textual.actions import SkipAction
from textual.message import Message
from textual.reactive import reactive, var
from textual.worker import Worker, WorkerState, get_current_worker

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width, clip_cells, one_line, safe_text
from inspector.ui.actions.action import bindings
from inspector.ui.actions.parts import DETAIL
from inspector.ui.detail.content import DetailContent, DetailSection, Document, SectionKind
from inspector.ui.detail.views import BETWEEN_VIEWS, VIEWS, Shown, prepare, views_in
from inspector.ui.toolkit.line_view import LineView, component_classes, strip_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray
    from rich.style import Style
    from textual import events
    from textual.binding import BindingType
    from textual.strip import Strip

    from inspector.ui.detail.page import DetailPage

    Pieces = tuple[tuple[str, str | Style], ...]


CSS: Final = """
Detail {
    & > .detail--header { color: $text-muted; }
    & > .detail--tab { color: $text-muted; }
    & > .detail--tab-active { color: $foreground; text-style: bold underline; }
    & > .detail--recorded { color: $foreground; }
    & > .detail--inserted { color: $foreground; background: $inserted; text-style: bold; }
    & > .detail--absent { color: $text-muted; }
    & > .detail--note { color: $text-accent; text-style: italic; }
    & > .detail--name { color: $text-primary; text-style: bold; }
    & > .detail--member { color: $text-primary; }
    & > .detail--added { color: $added; }
    & > .detail--taken { color: $removed; }
    & > .detail--hunk { color: $text-accent; text-style: bold; }
    & > .detail--found { color: $background; background: $found; text-style: bold; }
    & > .detail--found-here { color: $background; background: $found-here; text-style: bold; }
    &:ansi > .detail--inserted { background: ansi_default; text-style: bold reverse; }
    &:ansi > .detail--found { color: ansi_default; background: ansi_default; text-style: reverse; }
    &:ansi > .detail--found-here { color: ansi_default; background: ansi_default; text-style: bold reverse; }
    &:nocolor > .detail--inserted { background: $surface; text-style: bold reverse; }
    &:nocolor > .detail--taken { text-style: dim; }
    &:nocolor > .detail--added { text-style: bold; }
    &:nocolor > .detail--found { color: $foreground; background: $surface; text-style: reverse; }
    &:nocolor > .detail--found-here { color: $foreground; background: $surface; text-style: bold reverse underline; }
}
"""


def _no_rows() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FoundPlaces:
    """Search results.

    Attributes:
        words: The search text; empty for none.
        rows: Row of each match, ascending.
        at: Index of the selected match.
    """

    words: str = ""
    rows: NDArray[np.int64] = field(default_factory=_no_rows)
    at: int = 0

    @property
    def row(self) -> int | None:
        """Row of the selected match, None if there is none."""
        return int(self.rows[self.at]) if len(self.rows) else None

    @property
    def position_text(self) -> str:
        """Number of the selected match, as text."""
        return (
            f"{ON_SCREEN.whole(self.at + 1)} of {ON_SCREEN.whole(len(self.rows))}"
            if len(self.rows)
            else "not in this text"
        )

    def at_rows(self, rows: NDArray[np.int64], first: int) -> FoundPlaces:
        """Set the matches and select the first one at or below a row, otherwise the first of all."""
        at = int(np.searchsorted(rows, first))
        return replace(self, rows=rows, at=at if at < len(rows) else 0)

    def moved(self, step: int) -> FoundPlaces:
        return replace(self, at=(self.at + step) % len(self.rows)) if len(self.rows) else self


def highlighted(pieces: Pieces, words: str, *, is_here: bool) -> Pieces:
    """Highlight the matches of safe words in the safe texts of a row."""
    style = "detail--found-here" if is_here else "detail--found"
    marked: list[tuple[str, str | Style]] = []
    wanted = words.lower()
    for text, own in pieces:
        lowered = text.lower()
        # Some letters change length with case; skip such rows.
        if not wanted or wanted not in lowered or len(lowered) != len(text):
            marked.append((text, own))
            continue
        position = 0
        while (found := lowered.find(wanted, position)) >= 0:
            marked += [(text[position:found], own), (text[found : found + len(wanted)], style)]
            position = found + len(wanted)
        marked.append((text[position:], own))
    return tuple(piece for piece in marked if piece[0])


NOTHING_CHOSEN: Final = "Move the cursor to a row to see its text."
LOADING: Final = "loading…"

LEAST_OF_TITLE = 5
"""Minimum width of a useful title in cells."""
LOADING_AFTER = 0.15
"""Delay in seconds before the loading notice."""

MOST_COPIED: Final = 200_000
"""Maximum number of characters copied: terminals reject longer sequences, some silently."""


class Detail(LineView):
    """A block's text below the names of its views. Set `content` to show a block.

    The text is read and wrapped in a thread. The scroll position stays as long as the block is the same, so that a
    limit can be dragged while reading.
    """

    DEFAULT_CSS = CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(CSS)

    BINDINGS: ClassVar[list[BindingType]] = bindings(DETAIL)

    HEADER_LINES = 1

    content: var[DetailContent | None] = var(None)
    shown: reactive[Shown] = reactive[Shown]("sent", init=False)
    below: var[int] = var(0)
    """Number of rows below the visible ones."""

    @dataclass
    class Prepared(Message):
        """Posted when a text has been read and wrapped.

        Attributes:
            generation: Number of the request.
            page: The page to show.
            key: The block.
            recorded: Its recorded text, None if it was not or could not be read.
        """

        generation: int
        page: DetailPage
        key: Hashable
        recorded: str | None

    @dataclass
    class Found(Message):
        """Posted when a text has been searched.

        Attributes:
            page: The searched page.
            words: The search text.
            rows: Row of each match, ascending.
        """

        page: DetailPage
        words: str
        rows: NDArray[np.int64]

    class FindRequested(Message):
        """Posted to open the search line."""

    @dataclass
    class Notice(Message):
        """Posted to report a result or failure of an action.

        Attributes:
            notice: One line to show.
        """

        notice: str

    @dataclass
    class Counted(Message):
        """Posted when matches were counted or another match was selected.

        Attributes:
            notice: `3 of 41`, or a notice that there is none.
        """

        notice: str

    @dataclass
    class PagerRequested(Message):
        """Posted to show the text in the user's pager.

        Attributes:
            text: The text, not yet safe.
        """

        text: str

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._page: DetailPage = Document.of((), 1)
        self._generation = 0
        self._recorded: tuple[Hashable, str] | None = None
        self._place: tuple[Hashable, Shown] | None = None
        self._prepared_width = 0
        self._before: Shown = "sent"
        self._found = FoundPlaces()

    @property
    def document(self) -> DetailPage:
        return self._page

    @property
    def text_width(self) -> int:
        """Wrap width in cells, without the gutter."""
        return max(self.line_width - 1, 1)

    def watch_content(self) -> None:
        self._prepare()

    def watch_shown(self, before: Shown, _: Shown) -> None:
        self._before = before
        self._prepare()

    def on_resize(self) -> None:
        self._count_below()
        if self.line_width != self._prepared_width:
            self._prepare()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._count_below()

    def _count_below(self) -> None:
        self.below = max(self.line_count - self.first_line - self.page_height, 0)

    def on_click(self, event: events.Click) -> None:
        if self.line_at(event) == -1:
            offset = event.get_content_offset(self)
            position = 1
            for shown, label in views_in(self.line_width - 1, self.shown):
                if shown is not None and offset is not None and position <= offset.x < position + len(label):
                    self.shown = shown
                    return
                position += len(label) + len(BETWEEN_VIEWS)

    def on_detail_prepared(self, message: Prepared) -> None:
        """Show a prepared text, unless a newer request was made."""
        message.stop()
        if message.generation != self._generation:
            return
        if message.recorded is not None:
            self._recorded = (message.key, message.recorded)
        self._show(message.page, message.key)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report a text that cannot be shown."""
        if event.state is WorkerState.ERROR and event.worker.group == "detail":
            event.stop()
            reason = type(event.worker.error).__name__
            self._show_placeholder(f"Cannot show this text: {reason}.")

    def action_show(self, shown: Shown) -> None:
        """Select a view; selected again, return to the previous one."""
        self.shown = self._before if shown == self.shown else shown

    def action_other(self, step: int) -> None:
        """Switch to a neighboring view, wrapping around."""
        names = [name for name, _ in VIEWS]
        self.shown = names[(names.index(self.shown) + step) % len(names)]

    def action_next_note(self) -> None:
        """Scroll to the next cut, wrapping around."""
        rows = self._page.note_rows()
        if rows:
            self.scroll_to_line(next((row for row in rows if row > self.first_line), rows[0]))

    def action_find(self) -> None:
        self.post_message(self.FindRequested())

    def search(self, words: str) -> None:
        """Search the view in a thread; empty text ends the search."""
        self._found = FoundPlaces(safe_text(words))
        self.forget_lines()
        if words:
            self._search()

    def _search(self) -> None:
        page, words = self._page, self._found.words

        def run() -> None:
            self.post_message(self.Found(page, words, page.find(words)))

        self.run_worker(
            run, group="detail-search", description="searching a text", thread=True, exclusive=True, exit_on_error=False
        )

    def on_detail_found(self, message: Found) -> None:
        """Go to the first match from here on."""
        message.stop()
        if message.page is self._page and message.words == self._found.words:
            self._found = self._found.at_rows(message.rows, self.first_line)
            self._go_to_found()

    def action_to_found(self, step: int) -> None:
        """Go to the next or previous match, wrapping around.

        Raises:
            SkipAction: Without a search in this text, the key applies to the rows.
        """
        if not self._found.words:
            raise SkipAction
        self._found = self._found.moved(step)
        self._go_to_found()

    def _go_to_found(self) -> None:
        row = self._found.row
        if row is not None and not self.first_line <= row < self.first_line + self.page_height:
            self.scroll_to_line(max(row - self.page_height // 3, 0))
        self.forget_lines()
        self.post_message(self.Counted(self._found.position_text))

    def action_copy(self) -> None:
        """Copy the view with control characters made visible, so that pasting it is safe."""
        text = self._page.whole()
        copied = text[:MOST_COPIED]
        self.app.copy_to_clipboard("\t".join(safe_text(part) for part in copied.split("\t")))
        part = "" if len(text) <= MOST_COPIED else f"the first {ON_SCREEN.whole(MOST_COPIED)} of "
        self.post_message(
            self.Notice(f"copied {part}{ON_SCREEN.plural(len(text), 'character')}, if the terminal allows it")
        )

    def action_pager(self) -> None:
        self.post_message(self.PagerRequested(self._page.whole()))

    def action_scroll(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step)

    def action_page(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        self.scroll_to_line(0)

    def action_last(self) -> None:
        self.scroll_to_line(self.line_count)

    def draw_line(self, line: int, width: int) -> Strip:
        pieces, rest = self._page.shown(line)
        if self._found.words:
            pieces = highlighted(pieces, self._found.words, is_here=line == self._found.row)
        styled = ((text, self._styled(style)) for text, style in pieces)
        return strip_of(styled, width, self.style_of(rest) if rest else self.rich_style)

    def _styled(self, style: str | Style) -> Style:
        return self.style_of(style) if isinstance(style, str) else self.style_of("detail--recorded") + style

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.refresh()

    def draw_header(self, width: int) -> Strip:
        """Draw the view labels, the title and the number of rows. Without the focus, only the current view is named."""
        header = self.style_of("detail--header")
        parts = [(" ", header)]
        views = [each for each in views_in(width - 1, self.shown) if self.has_focus or each[0] == self.shown]
        for index, (shown, label) in enumerate(views):
            if index:
                parts.append((BETWEEN_VIEWS, header))
            active = shown == self.shown
            parts.append((label, self.style_of("detail--tab-active" if active else "detail--tab")))
        content = self.content
        left = width - sum(cell_width(text) for text, _ in parts)
        size = f"  {ON_SCREEN.whole(self.line_count)} rows" if self.line_count > self.page_height else ""
        title = _fitting(content, max(left - 3, 0)) if content is not None else ""
        if cell_width(title) + cell_width(size) + 3 > left:
            size = ""
        parts.append((" " * max(left - cell_width(title) - cell_width(size) - 1, 0), header))
        parts += [(title, header), (size, header)]
        return strip_of(parts, width, header)

    def _prepare(self) -> None:
        """Read and wrap the view's text in a thread."""
        self._generation += 1
        self._prepared_width = self.line_width if self.is_mounted else 0
        if not self._prepared_width:
            # The pane is hidden; it is prepared again once it has a width.
            return
        content = self.content
        if content is None:
            self._recorded = None
            self._show_placeholder(NOTHING_CHOSEN)
            return
        recorded = self._recorded[1] if self._recorded is not None and self._recorded[0] == content.key else None
        work = partial(prepare, content, recorded, self.shown, self.text_width)
        generation = self._generation

        def run() -> None:
            page, text = work()
            if not get_current_worker().is_cancelled:
                self.post_message(self.Prepared(generation, page, content.key, text))

        self.run_worker(
            run, group="detail", description="reading a text", thread=True, exclusive=True, exit_on_error=False
        )
        if self._place is None or self._place[0] != content.key:
            self.set_timer(LOADING_AFTER, partial(self._show_loading, generation))
        self.refresh()

    def _show_loading(self, generation: int) -> None:
        if (
            generation == self._generation
            and self.content is not None
            and self._place != (self.content.key, self.shown)
        ):
            self._show_placeholder(LOADING)

    def _show_placeholder(self, sentence: str) -> None:
        self._show(Document.of((DetailSection(sentence, SectionKind.NOTE),), self.text_width), None)

    def _show(self, page: DetailPage, key: Hashable | None) -> None:
        place = (key, self.shown)
        stays = key is not None and place == self._place
        self._place = place
        self._page = page
        self.show_lines(len(page))
        if not stays:
            self.scroll_to_line(0)
        self._count_below()
        if self._found.words:
            self._found = FoundPlaces(self._found.words)
            self._search()


def _fitting(content: DetailContent, width: int) -> str:
    """Return as many parts of a title as fit: a truncated number would be misread."""
    first, *others = one_line(content.title).split(", ")
    if cell_width(first) > width:
        return clip_cells(one_line(content.short_title or first), width) if width >= LEAST_OF_TITLE else ""
    fitting = first
    for part in others:
        longer = f"{fitting}, {part}"
        if cell_width(longer) > width:
            break
        fitting = longer
    return fitting
