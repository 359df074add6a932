"""The detail: one block's text, as recorded or as sent, however long it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive, var
from textual.worker import Worker, WorkerState, get_current_worker

from inspector.safe_text import cell_width, clip_cells, one_line
from inspector.session.model import TextUnavailableError
from inspector.ui.detail_content import Document, Section, SectionKind, laid_out, sent_sections
from inspector.ui.numbers import whole
from inspector.ui.widgets.line_view import LineView, strip_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from textual import events
    from textual.strip import Strip

    from inspector.ui.detail_content import DetailContent

Shown = Literal["raw", "sent"]

NOTHING_CHOSEN: Final = "Move the cursor to a row to see what it holds."
EMPTY: Final = "This block has no text."
LOADING: Final = "loading…"

LOADING_AFTER = 0.15
"""Seconds before a text that is still being read is said to be."""

_TABS: Final[tuple[tuple[Shown, str], ...]] = (("raw", "raw"), ("sent", "as sent"))
_GUTTER: Final = {
    SectionKind.RECORDED: " ",
    SectionKind.INSERTED: "▎",
    SectionKind.ABSENT: "┊",
    SectionKind.NOTE: " ",
}
_STYLES: Final = {
    SectionKind.RECORDED: "detail--recorded",
    SectionKind.INSERTED: "detail--inserted",
    SectionKind.ABSENT: "detail--absent",
    SectionKind.NOTE: "detail--note",
}


class Detail(LineView):
    """A block's text under the names of its views. Set `content` to show a block.

    The text is read and folded in a thread. The place in it is kept while it is the same block, so that a limit can be
    dragged while one looks at what is left.
    """

    DEFAULT_CSS = """
    Detail {
        & > .detail--header { color: $text-muted; }
        & > .detail--tab { color: $text-muted; }
        & > .detail--tab-active { color: $foreground; text-style: bold underline; }
        & > .detail--recorded { color: $foreground; }
        & > .detail--inserted { color: $foreground; background: $warning-muted; text-style: bold; }
        & > .detail--absent { color: $text-muted; }
        & > .detail--note { color: $text-accent; text-style: italic; }
        &:ansi > .detail--inserted { background: ansi_default; text-style: bold reverse; }
        &:nocolor > .detail--inserted { background: $surface; text-style: bold reverse; }
    }
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "detail--header",
        "detail--tab",
        "detail--tab-active",
        "detail--recorded",
        "detail--inserted",
        "detail--absent",
        "detail--note",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "show('raw')", "Raw", id="detail.raw", tooltip="Show the text as recorded"),
        Binding("s", "show('sent')", "As sent", id="detail.sent", tooltip="Show what the plan sends of it"),
        Binding("j", "lay_out", "JSON", id="detail.json", tooltip="Lay out the recorded text as JSON, or not"),
        Binding("x", "next_note", "Next cut", id="detail.next-cut", tooltip="Go to the next place something was cut"),
        Binding("left,right", "other", "Other view", id="detail.other", tooltip="Change between views", show=False),
        Binding("up", "scroll(-1)", "Up", id="detail.up", tooltip="Scroll up", show=False),
        Binding("down", "scroll(1)", "Down", id="detail.down", tooltip="Scroll down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="detail.page-up", tooltip="Scroll up by a page", show=False),
        Binding("pagedown", "page(1)", "Page down", id="detail.page-down", tooltip="Scroll down by a page", show=False),
        Binding("home,g", "first", "Top", id="detail.first", tooltip="Go to the beginning", show=False),
        Binding("end,G", "last", "End", id="detail.last", tooltip="Go to the end", show=False),
    ]

    HEADER_LINES = 1

    content: var[DetailContent | None] = var(None)
    """The block shown."""
    shown: reactive[Shown] = reactive[Shown]("sent", init=False)
    """Which of the views."""
    as_json: reactive[bool] = reactive(False, init=False)
    """The recorded text is laid out as JSON where it is JSON."""

    @dataclass
    class Prepared(Message):
        """A text was read and folded.

        Attributes:
            generation: Which request it answers.
            document: What to show.
            key: The block.
            recorded: Its recorded text, None where it could not be read.
            is_laid_out: It was found to be JSON and is laid out.
        """

        generation: int
        document: Document
        key: Hashable
        recorded: str | None
        is_laid_out: bool

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, classes=classes)
        self._document = Document.of((), 1)
        self._generation = 0
        self._recorded: tuple[Hashable, str] | None = None
        self._place: tuple[Hashable, Shown, bool] | None = None
        self._prepared_width = 0
        self._is_laid_out = False

    @property
    def document(self) -> Document:
        """What is shown, folded."""
        return self._document

    @property
    def text_width(self) -> int:
        """Cells the text is folded to: the first of a line tells what was put in."""
        return max(self.line_width - 1, 1)

    def watch_content(self) -> None:
        """Show another block, or the same one sent in another way."""
        self._prepare()

    def watch_shown(self) -> None:
        """Show the other view."""
        self._prepare()

    def watch_as_json(self) -> None:
        """Lay the text out, or not."""
        self._prepare()

    def on_resize(self) -> None:
        """Fold to the new width."""
        if self.line_width != self._prepared_width:
            self._prepare()

    def on_click(self, event: events.Click) -> None:
        """Choose a view by its name in the header."""
        if self.line_at(event) == -1:
            offset = event.get_content_offset(self)
            position = 1
            for shown, label in _TABS:
                if offset is not None and position <= offset.x < position + len(label):
                    self.shown = shown
                position += len(label) + 3

    def on_detail_prepared(self, message: Prepared) -> None:
        """Show a text that is ready, unless another has been asked for since."""
        message.stop()
        if message.generation != self._generation:
            return
        if message.recorded is not None:
            self._recorded = (message.key, message.recorded)
        self._is_laid_out = message.is_laid_out
        self._show(message.document, message.key)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say so when a text cannot be shown."""
        if event.state is WorkerState.ERROR and event.worker.group == "detail":
            event.stop()
            reason = type(event.worker.error).__name__
            self._say(f"This text could not be shown: {reason}.")

    def action_show(self, shown: Shown) -> None:
        """Choose a view."""
        self.shown = shown

    def action_other(self) -> None:
        """Change to the other view."""
        self.shown = "raw" if self.shown == "sent" else "sent"

    def action_lay_out(self) -> None:
        """Lay out the recorded text as JSON, or not; shows the recorded text."""
        self.as_json = not (self.as_json and self.shown == "raw")
        self.shown = "raw"

    def action_next_note(self) -> None:
        """Put the next place something was cut at the top; the first one after the last."""
        rows = self._document.note_rows()
        if rows:
            self.scroll_to_line(next((row for row in rows if row > self.first_line), rows[0]))

    def action_scroll(self, step: int) -> None:
        """Scroll by rows."""
        self.scroll_to_line(self.first_line + step)

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.scroll_to_line(self.first_line + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        """Go to the beginning."""
        self.scroll_to_line(0)

    def action_last(self) -> None:
        """Go to the end."""
        self.scroll_to_line(self.line_count)

    def draw_line(self, line: int, width: int) -> Strip:
        """One row of the text."""
        text, kind = self._document.row(line)
        style = self.style_of(_STYLES[kind])
        return strip_of(
            [(_GUTTER[kind], style), (text, style)], width, style if kind is SectionKind.INSERTED else self.rich_style
        )

    def draw_header(self, width: int) -> Strip:
        """The views, and what is shown."""
        header = self.style_of("detail--header")
        parts = [(" ", header)]
        for index, (shown, label) in enumerate(_TABS):
            if index:
                parts.append((" │ ", header))
            active = shown == self.shown
            parts.append((label, self.style_of("detail--tab-active" if active else "detail--tab")))
        content = self.content
        if content is not None and self.shown == "raw":
            parts.append((self._json_label(content), header))
        left = width - sum(cell_width(text) for text, _ in parts)
        title = clip_cells(one_line(content.title), max(left - 3, 0)) if content is not None else ""
        size = f"  {whole(self.line_count)} rows" if self.line_count > self.page_height else ""
        if cell_width(title) + cell_width(size) + 3 > left:
            size = ""
        parts.append((" " * max(left - cell_width(title) - cell_width(size) - 1, 0), header))
        parts += [(title, header), (size, header)]
        return strip_of(parts, width, header)

    def _json_label(self, content: DetailContent) -> str:
        if self.as_json:
            return "  json" if self._is_laid_out else "  not json"
        return "  j json" if content.is_json else ""

    def _prepare(self) -> None:
        """Read and fold what is to be shown now, in a thread."""
        self._generation += 1
        if not self.is_mounted or not self.line_width:
            return
        self._prepared_width = self.line_width
        content = self.content
        if content is None:
            self._recorded = None
            self._say(NOTHING_CHOSEN)
            return
        recorded = self._recorded[1] if self._recorded is not None and self._recorded[0] == content.key else None
        work = partial(prepare, content, recorded, self.shown, self.text_width, as_json=self.as_json)
        generation = self._generation

        def run() -> None:
            document, text, is_laid_out = work()
            if not get_current_worker().is_cancelled:
                self.post_message(self.Prepared(generation, document, content.key, text, is_laid_out))

        self.run_worker(
            run, group="detail", description="reading a text", thread=True, exclusive=True, exit_on_error=False
        )
        if self._place is None or self._place[0] != content.key:
            self.set_timer(LOADING_AFTER, partial(self._say_loading, generation))
        self.refresh()

    def _say_loading(self, generation: int) -> None:
        if generation == self._generation and self.content is not None:
            place = (self.content.key, self.shown, self.as_json)
            if self._place != place:
                self._say(LOADING)

    def _say(self, sentence: str) -> None:
        self._show(Document.of((Section(sentence, SectionKind.NOTE),), self.text_width), None)

    def _show(self, document: Document, key: Hashable | None) -> None:
        place = (key, self.shown, self.as_json)
        stays = key is not None and place == self._place
        self._place = place
        self._document = document
        self.show_lines(len(document))
        if not stays:
            self.scroll_to_line(0)


def prepare(
    content: DetailContent, recorded: str | None, shown: Shown, width: int, *, as_json: bool
) -> tuple[Document, str | None, bool]:
    """Read a block's text where it has not been read, and fold what is to be shown of it.

    Args:
        content: The block.
        recorded: Its recorded text, if it has been read.
        shown: Which view.
        width: Cells of a row.
        as_json: Lay out the recorded text as JSON, if it is.

    Returns:
        What to show; the recorded text, None where it could not be read; whether it is laid out as JSON.
    """
    if recorded is None:
        try:
            recorded = content.raw()
        except (TextUnavailableError, OSError) as error:
            reason = one_line(str(error)) or "its file was replaced or is gone"
            return Document.of((Section(f"unavailable: {reason}", SectionKind.NOTE),), width), None, False
    formatted = laid_out(recorded) if as_json and shown == "raw" else None
    if shown == "sent":
        sections = sent_sections(recorded, content)
    else:
        sections = (Section(recorded if formatted is None else formatted, SectionKind.RECORDED),)
    document = Document.of(sections, width)
    if not len(document):
        document = Document.of((Section(EMPTY, SectionKind.NOTE),), width)
    return document, recorded, formatted is not None
