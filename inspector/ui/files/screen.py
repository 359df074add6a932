"""The files screen: tool operations on each file, its share of the context, and its content as known to the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.content import Content
from textual.reactive import var

from inspector.file_history.changelog import generate_changelog
from inspector.file_history.history import FileEvent, FileEventKind, file_history
from inspector.replay.analysis.context_breakdown import files_in_context
from inspector.report.listings import short_path, state_notes
from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cut_middle, one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import FILES, FILES_CONTENT, FILES_HISTORY, FILES_TABLE
from inspector.ui.analysis_screen import AnalysisScreen, CloseResult
from inspector.ui.figure_table.table import Sorting, Table, legend_of
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.files.rows import NO_FILE, FilesFound, KnownLines, change_key, event_table, file_table, place_of_block
from inspector.ui.part_names import CHART, TIMELINE
from inspector.ui.session_screen import scale_words
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.line_view import LineView, component_classes, strip_of
from inspector.ui.toolkit.pane import Pane, Placeholder, PlaceholderText
from inspector.ui.toolkit.status_bar import StatusBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip
    from textual.widget import Widget

    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.explain import Explained


CSS: Final = """
KnownContent {
    height: 1fr;
    background: $background;
    scrollbar-background: $background;
    & > .known--number { color: $text-muted; }
    & > .known--line { color: $foreground; }
    & > .known--note { color: $text-accent; text-style: italic; }
}
"""


class KnownContent(LineView):
    """Known content of a file. Set `known` to show it."""

    DEFAULT_CSS = CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(CSS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(FILES_CONTENT)
    HELP = """The file as known to the agent after the selected step of its history, according to the session's records
    only. Lines between ⋯ are unknown: the agent had not seen them, or something else had changed the file. Lines with
    an unknown position have no number; long lines are cut at the edge."""

    known: var[KnownLines | None] = var(None, init=False)

    def watch_known(self) -> None:
        """Scroll to the lines shown or changed last."""
        known = self.known
        self.show_lines(0 if known is None else len(known))
        self.scroll_to_line(0 if known is None else max(known.begin - self.page_height // 4, 0))
        self.post_hidden_lines()

    def on_resize(self) -> None:
        self.forget_lines()
        self.post_hidden_lines()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_hidden_lines()

    def action_scroll(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step)

    def action_page(self, step: int) -> None:
        self.scroll_to_line(self.first_line + step * max(self.page_height - 1, 1))

    def action_first(self) -> None:
        self.scroll_to_line(0)

    def action_last(self) -> None:
        self.scroll_to_line(self.line_count)

    def draw_line(self, line: int, width: int) -> Strip:
        if self.known is None:
            return strip_of((), width, self.rich_style)
        room = self.known.number_width + 3
        number, text, is_note = self.known.line(line, max(width - room, 1))
        parts = (
            (f" {number:>{self.known.number_width}}  ", self.style_of("known--number")),
            (text, self.style_of("known--note" if is_note else "known--line")),
        )
        return strip_of(parts, width, self.rich_style)


AROUND_NAME = 40
"""Width of a frame's title without the file name, in cells."""


class Files(FigureTable):
    """The table of files."""

    HELP = """Every file that a tool read, edited or wrote in this session. In prompt: tokens of its tool results in the
    prompt of the selected call, on the provider's scale; a result about several files counts for each. Last read:
    whether the file was changed after it was last read, as of that call. Known: the content known to the agent by then.
    ~ marks estimates."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILES_TABLE)


class FileEvents(FigureTable):
    """The history table of one file."""

    TITLE_IN_HELP = "history of a file"
    HELP = """History of the file above. Turn: the message with the result. Call: the first call with the result in its
    prompt. Read: whether the text was changed after it was read, as of the selected call; later steps are dimmed.
    Purpose: as stated by the call, otherwise the sentence before it, otherwise a summary of the change; for a read, the
    lines shown."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILES_HISTORY)


class FilesScreen(AnalysisScreen):
    """Files, the history of the file under the cursor, and its content as known after the selected event.

    On a small screen the focused pane is twice as high as the others.
    """

    screen_name = "files"

    DEFAULT_CSS = """
    FilesScreen {
        #files-pane { height: 1fr; }
        #events-pane { height: 1fr; }
        #known-pane { height: 1fr; }
        &.-short #files-pane:focus-within { height: 2fr; }
        &.-short #events-pane:focus-within { height: 2fr; }
        &.-short #known-pane:focus-within { height: 2fr; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(FILES)

    def __init__(self, controller: SessionController, block: int = -1) -> None:
        """Initialize the screen; `block` is a call or result with a file operation to start at, -1 for none."""
        super().__init__(controller)
        self.found: FilesFound | None = None
        """The data shown; None until it is computed."""
        self._block = block
        self._place: int | None = None
        self._is_wanted = self._is_working = False
        self._shown: tuple[object, str | None, int] | None = None

    def compose(self) -> ComposeResult:
        yield SessionHeader()
        with Pane("Files", id="files-pane"):
            yield Files(id="files")
            yield Placeholder()
        with Pane("History", id="events-pane"):
            yield FileEvents(id="events")
        with Pane("Known to the agent", id="known-pane"):
            yield KnownContent(id="known")
        yield StatusBar()

    @property
    def files(self) -> Files:
        return self.query_one(Files)

    @property
    def events(self) -> FileEvents:
        return self.query_one(FileEvents)

    @property
    def content(self) -> KnownContent:
        return self.query_one(KnownContent)

    @property
    def path(self) -> str | None:
        key = self.files.cursor_key
        return key if isinstance(key, str) else None

    @property
    def event(self) -> FileEvent | None:
        """The event under the cursor in the file's history; None without events."""
        path, place = self.path, self.events.cursor_key
        if self.found is None or path is None or not isinstance(place, int):
            return None
        events = self.found.history.events.get(path, ())
        return events[place] if place < len(events) else None

    def on_mount(self) -> None:
        """Sort the files by their tokens in the context."""
        self.query_one(Placeholder).display = False
        self.files.set_reactive(FigureTable.sorting, Sorting("tokens"))
        self.files.focus()

    def show_outcome(self) -> None:
        """Update to the selected call, now or after the running update."""
        self._is_wanted = True
        if not self._is_working:
            self._find()

    def _find(self) -> None:
        self._is_working, self._is_wanted = True, False
        known, outcome = self.found, self.outcome
        if known is None:
            self.query_one("#files-pane", Pane).border_subtitle = Content("reading…")

        def work(post: Post[FilesFound], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            session = outcome.replay.history.session
            if known is not None and known.history.session is session:
                history, changes = known.history, known.changes
            else:
                history = file_history(session)
                changes = {change_key(change.event): change for change in generate_changelog(history)}
            context = files_in_context(history, outcome.replay, outcome.state)
            post(FilesFound(outcome, history, changes, context))

        self.jobs.run(work, self._take, group="files", description="read file operations", failed=self._stop)

    def _stop(self) -> None:
        self._is_working = False

    def _take(self, found: FilesFound) -> None:
        self._is_working = False
        is_first, self.found = self.found is None, found
        self._show(found)
        if is_first:
            self._begin(found)
        if self._is_wanted:
            self._find()

    def _begin(self, found: FilesFound) -> None:
        """Move the cursors to the operation of the timeline's row."""
        place = place_of_block(found.history, self._block) if self._block >= 0 else None
        if place is not None:
            path, self._place = place
            self.files.move_to_key(path)
            self._show_events()
            self.events.focus()

    def _show(self, found: FilesFound) -> None:
        context, count = found.context, found.outcome.replay.history.call_count
        is_next = context.call >= count
        when = "the next prompt" if is_next else f"call {ON_SCREEN.whole(context.call + 1)} of {ON_SCREEN.whole(count)}"
        size = ON_SCREEN.qualified(f"{ON_SCREEN.whole(context.tokens)} tokens", context.known.value)
        pane, placeholder = self.query_one("#files-pane", Pane), self.query_one(Placeholder)
        files = ON_SCREEN.plural(len(context.files), "file")
        pane.border_title = Content(f"{files}: {size} of results in {when}" if context.files else "Files")
        placeholder.display = not context.files
        text = "no recorded tool call names a file that it read, edited or wrote"
        placeholder.word = PlaceholderText(NO_FILE, (text, *_unread(found)))
        self.files.display = bool(context.files)
        for name in ("#events-pane", "#known-pane"):
            self.query_one(name).display = bool(context.files)
        table = file_table(found)
        scale = scale_words(found.outcome.inputs.scale) if context.files else ""
        pane.set_subtitle(*_unread(found), legend_of(table), scale)
        self.files.table = table
        self._show_events()

    @on(FigureTable.Highlighted, "#files")
    def _show_events(self) -> None:
        found, path = self.found, self.path
        if found is None:
            return
        is_same = self._shown is not None and self._shown[1] == path
        self.events.table = Table() if path is None else event_table(found, path)
        if self._place is not None:
            self.events.move_to_key(self._place)
            self._place = None
        elif not is_same:
            # For another file, start at its last event before the selected call.
            count = next((each.count for each in found.context.files if each.path == path), 0)
            self.events.move_to_key(max(count - 1, 0))
        pane, name = self.query_one("#events-pane", Pane), self._file_name()
        steps = ON_SCREEN.plural(len(self.events.rows), "step")
        pane.border_title = Content(f"History of {name}: {steps}" if name else "History")
        self._show_content()

    def _file_name(self) -> str:
        """Return the name of the file under the cursor, safe and shortened for a frame."""
        if self.found is None or self.path is None:
            return ""
        name = one_line(short_path(self.found.history, self.path))
        return cut_middle(name, max(self.size.width - AROUND_NAME, 12))

    @on(FigureTable.Highlighted, "#events")
    def _show_content(self) -> None:
        found, path, place = self.found, self.path, self.events.cursor_key
        shown = (None if found is None else found.history, path, place if isinstance(place, int) else -1)
        # The column may be too narrow for the purpose, so show it below the table too.
        step = next((row.cells["what"].text for row in self.events.rows if row.key == place), "")
        self.query_one("#events-pane", Pane).set_subtitle(step)
        if shown == self._shown:
            return
        self._shown = shown
        if found is None or path is None or not isinstance(place, int):
            self.content.known = None
            return
        state = found.history.state_after(path, place + 1)
        text = one_line(state_notes(state)[0].removeprefix(f"{path} at "))
        self.query_one("#known-pane", Pane).border_title = Content(f"Known to the agent at {text}")
        self.query_one("#known-pane", Pane).set_subtitle("")

        def work(post: Post[KnownLines], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            post(KnownLines.of(state, found.history.contents[path][place]))

        self.jobs.run(work, self._take_content, group="known file", description="show the known content of a file")

    def _take_content(self, known: KnownLines) -> None:
        self.content.known = known

    @on(FigureTable.Clicked, "#files")
    def _file_clicked(self) -> None:
        self.action_enter()

    @on(FigureTable.Clicked, "#events")
    def _event_clicked(self) -> None:
        self.action_jump()

    def action_other(self, step: int) -> None:
        parts: list[Widget] = [self.files, self.events, self.content]
        here = next((place for place, part in enumerate(parts) if part.has_focus), 0)
        if self.found is None or self.found.context.files:
            parts[(here + step) % len(parts)].focus()

    def action_call(self, step: int) -> None:
        """Move to another call, also on the main screen."""
        self.controller.look_further(step)

    def action_enter(self) -> None:
        if self.found is None or self.events.rows:
            self.events.focus()

    def action_jump(self) -> None:
        """Go to the row in the timeline: the result of a read, the call of a change."""
        event = self.event
        if event is not None:
            is_read = event.kind is FileEventKind.READ
            self.dismiss(CloseResult(block=event.result_block if is_read else event.call_block))

    def explains(self) -> Callable[[], tuple[Explained, ...]]:
        """Return the explanations of the result under the cursor, or of the prompt."""
        from inspector.ui.explain import explained_focus

        event = self.event if self.events.has_focus else None
        focus = (CHART, -1) if event is None else (TIMELINE, event.result_block)
        outcome, terms, runs = self.outcome, self.controller.terms, self.controller.runs_per_day
        search = self.controller.search_for_uses(outcome.replay.history)
        return lambda: explained_focus(outcome, focus, terms, runs, search)[0]


def _unread(found: FilesFound) -> tuple[str, ...]:
    """Return a notice about tool calls that could not be read, if any."""
    count = found.history.unread
    return (f"{ON_SCREEN.plural(count, 'tool call')} no longer in the file",) if count else ()
