"""The list of sessions: those named on the command line, those in a folder, those of the agents on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from inspector.safe_text import one_line
from inspector.ui import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

    from inspector.session.discover import Found

MOST_SHOWN = 300
SECONDS_BETWEEN_LISTS = 0.5


class SessionsScreen(Screen[None]):
    """Chooses a session to open."""

    AUTO_FOCUS = "Input"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "Down", id="sessions.down", tooltip="The next session", priority=True, show=False),
        Binding("up", "move(-1)", "Up", id="sessions.up", tooltip="The one before", priority=True, show=False),
        Binding("escape", "back", "Back", id="sessions.back", tooltip="Back to the session; without one, leave"),
        Binding("ctrl+q", "app.quit", "Quit", id="sessions.quit", tooltip="Leave inspector", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """A session should be opened."""

        path: Path

    @dataclass
    class Listed(Message):
        """Sessions were found.

        Attributes:
            found: All found so far.
            is_complete: There are no more.
        """

        found: tuple[Found, ...]
        is_complete: bool

        def can_replace(self, message: Message) -> bool:
            """Only the newest list counts."""
            return isinstance(message, SessionsScreen.Listed)

    def __init__(self, paths: Sequence[Path], folders: Sequence[Path] | None = None) -> None:
        """Make a list.

        Args:
            paths: Sessions to list in any case, first.
            folders: Where to look for others; None for where agents keep theirs on this machine.
        """
        super().__init__()
        self._paths = tuple(paths)
        self._folders = None if folders is None else tuple(folders)
        self._found: tuple[Found, ...] = ()
        self._is_complete = False

    def compose(self) -> ComposeResult:
        """A filter, the list, and what to do."""
        with Vertical(classes="section", id="sessions") as box:
            box.border_title = Content("Sessions")
            box.border_subtitle = Content("type to filter · enter opens · esc goes back · ctrl+q leaves")
            yield Input(placeholder="filter by path or format")
            yield OptionList(markup=False)
            yield Static(Content("looking for sessions…"), id="sessions-note", markup=False)

    def on_mount(self) -> None:
        """Look for sessions in a thread."""
        paths, folders = self._paths, self._folders

        def work() -> None:
            worker = get_current_worker()
            listed = monotonic()
            found: list[Found] = []
            for each in find_sessions(paths, folders):
                if worker.is_cancelled:
                    return
                found.append(each)
                if monotonic() - listed > SECONDS_BETWEEN_LISTS:
                    self.post_message(self.Listed(tuple(found), is_complete=False))
                    listed = monotonic()
            self.post_message(self.Listed(tuple(found), is_complete=True))

        self.run_worker(
            work, thread=True, exclusive=True, group="find", description="look for sessions", exit_on_error=False
        )

    @on(Listed)
    def _listed(self, message: Listed) -> None:
        named = set(self._paths)
        self._found = tuple(sorted(message.found, key=lambda found: (found.path not in named, -found.modified)))
        self._is_complete = message.is_complete
        self._fill()

    @on(Input.Changed)
    def _filter(self) -> None:
        self._fill()

    def _fill(self) -> None:
        words = self.query_one(Input).value.lower().split()
        wanted = [
            found for found in self._found if all(word in f"{found.path} {found.format}".lower() for word in words)
        ]
        options = self.query_one(OptionList)
        kept = options.highlighted_option.id if options.highlighted_option is not None else None
        options.clear_options()
        options.add_options([self._option(found) for found in wanted[:MOST_SHOWN]])
        if wanted:
            places = [str(found.path) for found in wanted[:MOST_SHOWN]]
            options.highlighted = places.index(kept) if kept in places else 0
        self.query_one("#sessions-note", Static).update(Content(self._note(len(wanted))))

    def _note(self, wanted: int) -> str:
        if not self._is_complete:
            return f"looking for sessions… {numbers.plural(len(self._found), 'session')} so far"
        if not self._found:
            return (
                "No sessions found. Name a file: inspector FILE. `inspector formats` lists what can be read and where."
            )
        more = f"; the newest {MOST_SHOWN} are shown" if wanted > MOST_SHOWN else ""
        return f"{numbers.whole(wanted)} of {numbers.plural(len(self._found), 'session')}{more}"

    @staticmethod
    def _option(found: Found) -> Option:
        home = Path.home()
        path = f"~/{found.path.relative_to(home)}" if found.path.is_relative_to(home) else str(found.path)
        age = numbers.age(time() - found.modified)
        return Option(
            Content.assemble(
                (f"{age:>7} ", "bold"),
                (f"{numbers.size(found.size):>8}  ", ""),
                (f"{found.format:<18} ", "$text-muted"),
                one_line(path),
            ),
            id=str(found.path),
        )

    @on(Input.Submitted)
    def _open_highlighted(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        if option is not None and option.id is not None:
            self.post_message(self.Chosen(Path(option.id)))

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is not None:
            self.post_message(self.Chosen(Path(event.option_id)))

    def action_move(self, places: int) -> None:
        """Move in the list while the filter keeps the focus."""
        options = self.query_one(OptionList)
        if places > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_back(self) -> None:
        """Back to the session this was opened from; where there is none, leave."""
        if self.app.screen_stack[0] is self:
            self.app.exit()
        else:
            self.app.pop_screen()


def find_sessions(paths: Iterable[Path], folders: Iterable[Path] | None) -> Iterable[Found]:
    """Sessions one after the other: the named ones, then those in folders, newest first in each.

    Args:
        paths: Named sessions; what cannot be read of them is left out.
        folders: Where to look; None for where agents keep theirs on this machine.
    """
    from inspector.session.discover import Found, homes, sessions_in
    from inspector.session.errors import SessionError
    from inspector.session.formats import detect
    from inspector.session.locator import Locator

    seen = set()
    for path in paths:
        try:
            status, detection = Locator.of(path).file.stat(), detect(path)
        except (OSError, SessionError):
            continue
        seen.add(path)
        yield Found(path, detection.format.name, status.st_size, status.st_mtime)
    for folder in homes() if folders is None else folders:
        for found in sessions_in(folder):
            if found.path not in seen:
                seen.add(found.path)
                yield found
