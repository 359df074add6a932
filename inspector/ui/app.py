"""Application class: themes, settings, tabs and the session screens."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from time import time
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import SystemCommand
from textual.events import Mount, ScreenResume, ScreenSuspend
from textual.notifications import Notify, SeverityLevel
from textual.reactive import Reactive
from textual.screen import Screen

from inspector.safe_text import one_line
from inspector.session.files import is_live
from inspector.settings import Settings, load_settings, save_setting
from inspector.ui.main.screen import InspectScreen
from inspector.ui.performance.memory import CleanContextExecutor, CollectingApp
from inspector.ui.performance.painting import PaintingApp, after_frame
from inspector.ui.sessions.tabs import HOME, Happened, SessionTabs, Tab, Tabs, TabTitle
from inspector.ui.terminal import EndingApp, exit_on_signal
from inspector.ui.themes import DARK, THEME_WORDS, THEMES, ThemedApp
from inspector.ui.toolkit.header import SessionHeader
from inspector.ui.toolkit.input_gate import DraggingApp, GatedApp
from inspector.ui.toolkit.single_result_screen import run_dialog
from inspector.ui.toolkit.status_bar import CornerNotice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.command import Provider
    from textual.driver import Driver
    from textual.message import Message
    from textual.widget import AwaitMount

    from inspector.report.session_summary import ReadSummary
    from inspector.session.reading_process import ReadingProcess
    from inspector.strategies.plan import Plan
    from inspector.ui.help.palette import PaletteCommand
    from inspector.ui.live.screen import LiveScreen
    from inspector.ui.sessions.screen import SessionsScreen

MOST_AT_ONCE = 9
"""Maximum number of named sessions opened at once. The others only appear in the session list."""

SECONDS_OF_PROBLEM = 10.0

MOST_THREADS = 1_000
"""Thread pool limit. Threads are created on demand."""

START = "start"
"""Mode of the empty first screen, which Textual holds until the program exits."""

ENDINGS = frozenset({"SIGHUP", "SIGTERM"})
"""Signals that terminate the program."""


def _commands_provider() -> type[Provider]:
    """Import and return the provider of the command palette."""
    from inspector.ui.help.palette import CommandProvider

    return CommandProvider


class StartScreen(Screen[None]):
    """Empty screen that Textual requires before there is a screen to show."""

    def post_message(self, message: Message) -> bool:
        """Drop resume and suspend messages, which would make Textual style, lay out and paint this screen."""
        return isinstance(message, ScreenResume | ScreenSuspend) or super().post_message(message)


class InspectorApp(ThemedApp, EndingApp, GatedApp, DraggingApp, CollectingApp, PaintingApp):
    """Open session files and follow them."""

    TITLE = "inspector"
    CSS_PATH = Path(__file__).with_name(
        "inspector.tcss"
    )  # absolute: Textual resolves a relative path next to the module of the subclass
    DEFAULT_MODE = START
    theme: Reactive[str] = Reactive(DARK.name)
    """Initial theme. Changing it later makes Textual parse all styles again."""
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands_provider}

    def __init__(
        self,
        paths: Path | Sequence[Path],
        *,
        plan: Plan | None = None,
        settings: Settings | None = None,
        folders: Sequence[Path] | None = None,
        listed: Sequence[Path] = (),
        starts_live: bool = False,
        saves_state: bool = True,
        process: ReadingProcess | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        """Create the app.

        Args:
            paths: Sessions to open, each in its own tab; if empty, the session list is shown.
            plan: Initial plan; None for the plan last used on the session, or a suggested one.
            settings: Settings to use instead of the user's.
            folders: Folders to list sessions from; None for the agents' own folders on this machine.
            listed: Sessions that come first in the list.
            starts_live: Without paths, show the running sessions instead of the session list.
            saves_state: Restore the view state of each session and save it on exit.
            process: Process that is already reading the first session.
            driver: Textual driver; None for the default of the terminal.
        """
        super().__init__(driver_class=driver)
        self._tabs = Tabs()
        self._seen: dict[str, Happened] = {}
        """Events of each tab when it was shown last."""
        self._sessions_read: dict[Path, ReadSummary] = {}
        self._paths = (paths,) if isinstance(paths, PurePath) else tuple(paths)
        self._folders = None if folders is None else tuple(folders)
        self._listed = tuple(listed)
        self._starts_live = starts_live
        self._plan = plan
        self._keeps_state = saves_state
        self._process = process
        self.settings = settings or load_settings()
        if not self._use_theme(self.settings.theme):
            problem = f"unknown theme {self.settings.theme!r}; using dark. Available: {', '.join(THEMES)}"
            self.settings = self.settings._replace(problems=(*self.settings.problems, problem))
            self._use_theme("dark")

    def get_default_screen(self) -> StartScreen:
        return StartScreen()

    @property
    def is_opening(self) -> bool:
        """True if the session on the screen is being read or counted."""
        screen = self.screen_stack[0] if self.screen_stack else None
        return isinstance(screen, InspectScreen) and screen.controller.is_opening

    def _styled_first_screen(self) -> Screen[None]:
        screen = self._first_screen()
        # Without this Textual would parse all styles twice more before the first paint.
        screen._css_update_count = self._css_update_count  # noqa: SLF001  there is no public API
        return screen

    def _first_screen(self) -> Screen[None]:
        if not self._paths:
            return self.live_screen() if self._starts_live else self.sessions_screen()
        self._tabs = self._tabs.added(self._paths[0], HOME)
        return self._screen_of(self._paths[0])

    def _screen_of(self, path: Path) -> InspectScreen:
        process, self._process = self._process, None
        return InspectScreen(path, self.settings, self._plan, saves_state=self._keeps_state, process=process)

    def sessions_screen(self) -> Screen[None]:
        """Build the session list from the named sessions and the folders (by default the agents' own)."""
        from inspector.ui.sessions.screen import SessionsScreen

        named = (*self._paths, *self._listed)
        return SessionsScreen(named, self._folders, self._sessions_read, keeps=self.settings.keep_list)

    def action_sessions(self) -> None:
        from inspector.ui.sessions.screen import SessionsScreen

        if not isinstance(self.screen, SessionsScreen):
            self.push_screen(self.sessions_screen())

    def on_sessions_screen_chosen(self, event: SessionsScreen.Chosen) -> None:
        """Open the chosen session in a tab."""
        from inspector.ui.sessions.screen import SessionsScreen

        if isinstance(self.screen, SessionsScreen):
            if len(self.screen_stack) > 1:
                self.screen.dismiss()
            self.open_session(event.path)

    def live_screen(self) -> Screen[None]:
        """Build the screen of the running sessions in the folders (by default the agents' own)."""
        from inspector.live.watch import LiveWatch
        from inspector.ui.live.screen import LiveScreen

        return LiveScreen(LiveWatch(self._folders), self.settings)

    def action_live(self) -> None:
        """Show the running sessions, over a session if one is open."""
        from inspector.ui.live.screen import LiveScreen
        from inspector.ui.sessions.screen import SessionsScreen

        if isinstance(self._home_screen(), LiveScreen):
            self._switch(HOME)
        elif not isinstance(self.screen, LiveScreen):
            if isinstance(self.screen, SessionsScreen) and len(self.screen_stack) > 1:
                self.screen.dismiss()
            self.push_screen(self.live_screen())

    def on_live_screen_chosen(self, event: LiveScreen.Chosen) -> None:
        """Open the chosen session in a tab."""
        if len(self.screen_stack) > 1:
            self.screen.dismiss()
        self.open_session(event.path)

    def open_session(self, path: Path) -> None:
        """Show a session in its tab, or open a new tab. A tab that failed to open its path is reused."""
        known = self._tabs.at(path)
        shown = self._tabs.of(self.current_mode)
        if known is not None:
            self.show_tab(known.mode)
        elif shown is not None and isinstance(self.screen, InspectScreen) and self.screen.controller.is_unopened:
            self._tabs = self._tabs.moved(shown.mode, path)
            self.screen.open_another(path)
        else:
            self.show_tab(self._add_tab(path))
        self.show_tabs()

    def _add_tab(self, path: Path) -> str:
        self._tabs = self._tabs.added(path)
        mode = self._tabs.all[-1].mode
        self.add_mode(mode, lambda: self._screen_of(path))
        return mode

    def show_tab(self, mode: str) -> None:
        self._switch(mode)
        self.show_tabs()

    def _switch(self, mode: str) -> AwaitMount:
        """Switch in the app's context: new widgets inherit the active context, which may be a closing menu."""
        with self._context():
            return self.switch_mode(mode)

    @property
    def has_tabs(self) -> bool:
        """True if more than one session is open."""
        return len(self._tabs.all) > 1

    def action_tab(self, step: int) -> None:
        """Show the next or the previous tab."""
        tab = self._tabs.next_tab(self.current_mode, step)
        if tab is not None and tab.mode != self.current_mode:
            self.show_tab(tab.mode)

    async def action_close_tab(self) -> None:
        """Close the session on the screen. After the last one, show the session list."""
        mode = self.current_mode
        if self._tabs.of(mode) is None:
            return
        base = self.screen_stack[0]
        if isinstance(base, InspectScreen):
            base.kept.save()
        following = self._tabs.next_tab(mode, 1)
        self._tabs = self._tabs.without(mode)
        if following is not None and following.mode != mode:
            await self._switch(following.mode)
        elif mode != HOME and not isinstance(self._home_screen(), InspectScreen) and self._home_screen() is not None:
            await self._switch(HOME)
        else:
            self._tabs = self._tabs._replace(made=self._tabs.made + 1)
            name = f"list-{self._tabs.made}"
            self.add_mode(name, self.sessions_screen)
            await self._switch(name)
        await self.remove_mode(mode)
        self.collect_everything_soon()
        self.show_tabs()

    def _home_screen(self) -> Screen[object] | None:
        stack = self._screen_stacks.get(HOME)
        return stack[0] if stack else None

    @on(SessionHeader.TabChanged)
    def show_tabs(self) -> None:
        titles = tuple(self._title_of(tab) for tab in self._tabs.all)
        for tab in self._tabs.all:
            for screen in self._screen_stacks.get(tab.mode, [])[:1]:
                for row in screen.query(SessionTabs):
                    row.titles = titles

    def _title_of(self, tab: Tab) -> TabTitle:
        stack = self._screen_stacks.get(tab.mode)
        screen = stack[0] if stack else None
        header = next(iter(screen.query(SessionHeader)), None) if isinstance(screen, InspectScreen) else None
        heading = None if header is None else header.heading
        title = heading.title if heading is not None and heading.title else tab.path.stem
        if heading is None:
            return TabTitle(tab.mode, title, tab.mode == self.current_mode)
        happened = Happened(*heading.events, heading.state == "live" and is_live(heading.changed, time()))
        is_shown, seen = tab.mode == self.current_mode, self._seen.get(tab.mode, happened)
        if is_shown or tab.mode not in self._seen or (happened.is_live and not seen.is_live):
            counts = happened[:2] if is_shown or tab.mode not in self._seen else seen[:2]
            self._seen[tab.mode] = seen = Happened(*counts, happened.is_live)
        return TabTitle(tab.mode, title, is_shown, happened.is_live, heading.fill, happened.is_news_since(seen))

    @on(InspectScreen.NewTabRequested)
    def _new_tab_wanted(self, event: InspectScreen.NewTabRequested) -> None:
        self.open_session(event.path)

    @on(SessionTabs.Picked)
    def _tab_picked(self, event: SessionTabs.Picked) -> None:
        self.show_tab(event.mode)

    @on(SessionTabs.CloseAsked)
    async def _close_asked(self) -> None:
        await self.action_close_tab()

    async def _open_others(self) -> None:
        """Open the other named sessions too, so that they are followed from the start."""
        named = self._paths[1:MOST_AT_ONCE]
        if not named or self._tabs.of(HOME) is None:
            return
        with self.batch_update():
            for path in named:
                if self.is_running and self._tabs.at(path) is None:
                    mode = self._add_tab(path)
                    await self.switch_mode(mode)
            if self.is_running:
                await self.switch_mode(HOME)
        self.show_tabs()

    @on(Mount)
    def _begin(self) -> None:
        """Apply the keymap, install signal handlers, and show the first screen."""
        loop = asyncio.get_running_loop()
        # Each open session occupies a thread to follow it; asyncio's default pool would run out.
        loop.set_default_executor(CleanContextExecutor(MOST_THREADS, "work"))
        for name in ENDINGS & {each.name for each in signal.Signals}:
            with suppress(ValueError):  # not in the main thread
                exit_on_signal(signal.Signals[name], loop, self.exit_saving_state)
        self.set_keymap(dict(self.settings.keymap))
        self.call_later(self._show_first_screen)
        self.set_interval(1, self.show_tabs)
        for problem in self.settings.problems:
            self._show_problem(problem)
        if self.settings.keymap:
            self._check_keymap()

    def _show_first_screen(self) -> None:
        """Show the first screen once Textual is ready; an earlier paint would be wasted."""
        if not self.is_running:  # already exiting: screens must not be added or removed while Textual removes them
            return
        self.add_mode(HOME, self._styled_first_screen)
        self.switch_mode(HOME)
        self.add_mode(START, StartScreen)  # registered only now, because `remove_mode` ignores an unregistered mode
        self._compose_screen = None  # makes queries on the app search the screen in front
        after_frame(self, self._finish_start)

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay painting while screens switch, except for the first screen."""
        if self._dom_ready:
            super().delay_update(delay)

    async def _finish_start(self) -> None:
        """Do the work that the first paint did not need."""
        if self.is_running:
            await self.remove_mode(START)
        await self._open_others()

    def exit_saving_state(self) -> None:
        """Save how sessions were left, then exit. Called when the terminal is closed or a signal arrives."""
        for stack in self._screen_stacks.values():
            for screen in stack[:1]:
                if isinstance(screen, InspectScreen):
                    screen.kept.save()
        self.exit()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a Textual toast that always has a timeout."""
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(CornerNotice(message, title, severity, seconds, markup=markup)))

    def _show_problem(self, problem: str) -> None:
        self.notify(one_line(problem), title="Settings", severity="warning", timeout=SECONDS_OF_PROBLEM, markup=False)

    @work(thread=True, group="keymap", description="check the keymap", exit_on_error=False)
    def _check_keymap(self) -> None:
        """Report names and keys in the user's keymap that have no effect. Imports every screen to know all names."""
        from inspector.ui.all_actions import problems_with_keymap

        for problem in problems_with_keymap(self.settings.keymap):
            self.call_from_thread(self._show_problem, f"keymap: {problem}")

    def _use_theme(self, name: str) -> bool:
        """Switch to a theme; return False if it does not exist."""
        name = THEMES[name].name if name in THEMES else name
        if name in self.available_themes and name != self.theme:
            self.theme = name
        return self.theme == name

    def action_use_theme(self, name: str) -> None:
        """Switch to a theme and save it as the setting."""
        self._use_theme(name)
        self.keep_setting("theme", name)

    def keep_setting(self, name: str, value: str | float | bool) -> None:
        """Change a setting and write it to the user's file."""
        try:
            self.settings = save_setting(self.settings, name, value)
        except OSError as error:
            self.notify(f"cannot save the setting: {error.strerror}", severity="warning", markup=False)

    @on(InspectScreen.SettingChanged)
    def _setting_changed(self, event: InspectScreen.SettingChanged) -> None:
        self.keep_setting(event.name, event.value)

    def action_help(self) -> None:
        from inspector.ui.help.key_listing import group_of_focused_pane, help_groups, help_sections
        from inspector.ui.help.screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(help_groups(help_sections(self), group_of_focused_pane(self))))

    def action_command_palette(self) -> None:
        from inspector.ui.help.palette import CommandFinder

        if not isinstance(self.screen, CommandFinder):
            self.push_screen(CommandFinder())

    def search_themes(self) -> None:
        from textual.theme import ThemeProvider

        from inspector.ui.help.palette import CommandFinder

        if not isinstance(self.screen, CommandFinder):
            self.push_screen(CommandFinder(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_picture(self) -> None:
        run_dialog(self, self._save_picture(), "save a picture")

    async def _save_picture(self) -> None:
        from inspector.ui.screenshots import save_a_picture

        try:
            text = await save_a_picture(self)
        except OSError as error:
            text = ""
            reason = error.strerror or str(error)
            self.notify(f"cannot save the picture: {reason}", severity="error", markup=False)
        if text:
            self.notify(one_line(text), markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield every command in Textual's form."""
        for command in self.palette_commands(screen):
            yield SystemCommand(command.title, command.text, command.run)

    def palette_commands(self, screen: Screen[object]) -> Iterable[PaletteCommand]:
        """Yield every command that applies now.

        Args:
            screen: The screen below the palette.
        """
        from inspector.ui.analysis_screen import AnalysisScreen
        from inspector.ui.help.palette import PaletteCommand, app_commands, key_commands

        if isinstance(screen, InspectScreen | AnalysisScreen):
            yield from screen.commands()
        yield from key_commands(screen)
        for name, words in THEME_WORDS.items():
            if self.theme != THEMES[name].name:
                yield PaletteCommand(
                    f"Use the {name} theme", words, partial(self.action_use_theme, name), also="colour color"
                )
        yield PaletteCommand(
            "Use the other themes", "All Textual themes", self.action_change_theme, also="colour color"
        )
        yield from app_commands(screen)


class LiveApp(InspectorApp):
    """App that starts with the running sessions."""

    def __init__(self, folders: Sequence[Path] | None = None, *, settings: Settings | None = None) -> None:
        """Create the app.

        Args:
            folders: Folders to watch; None for the homes of all agents on this machine.
            settings: Settings to use instead of the user's.
        """
        super().__init__((), settings=settings, folders=folders)

    def _first_screen(self) -> Screen[None]:
        return self.live_screen()
