"""The application: themes, settings, and the screen of a session."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import App, SystemCommand

from inspector.safe_text import one_line
from inspector.ui.screens.inspect import InspectScreen
from inspector.ui.screens.study import StudyScreen
from inspector.ui.settings import Settings, load_settings, save_setting
from inspector.ui.themes import DARK, THEME_WORDS, THEMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from textual.screen import Screen

    from inspector.strategies.plan import Plan
    from inspector.ui.screens.sessions import SessionsScreen

SWITCH_INTERVAL = 0.0005
"""Seconds a thread computes before another may: decoding and counting then cost the screen a millisecond, not five."""

SECONDS_OF_PROBLEM = 10.0


class InspectorApp(App[None]):
    """Opens a session file and follows it."""

    TITLE = "inspector"
    CSS_PATH = "inspector.tcss"

    def __init__(
        self, paths: Path | Sequence[Path], *, plan: Plan | None = None, settings: Settings | None = None
    ) -> None:
        """Make the application.

        Args:
            paths: The session to open; where there are several, the others are a key away. A folder is listed, and
                where there is no path, the sessions of the agents on this machine are.
            plan: The plan to begin with; None for the one last used on the session, or one that fits it.
            settings: Settings to use instead of the user's own.
        """
        super().__init__()
        self._paths = (paths,) if isinstance(paths, PurePath) else tuple(paths)
        self._plan = plan
        self.settings = settings or load_settings()
        for theme in THEMES.values():
            self.register_theme(theme)
        # Watchers of the theme parse all styles once more, which the first paint need not wait for.
        self.set_reactive(App.theme, DARK.name)
        self.stylesheet.set_variables(self.get_css_variables())
        if not self._use_theme(self.settings.theme):
            problem = f"there is no theme {self.settings.theme!r}; using dark. There are {', '.join(THEMES)}"
            self.settings = replace(self.settings, problems=(*self.settings.problems, problem))
            self._use_theme("dark")

    def get_default_screen(self) -> Screen[None]:
        """The first session's, or the list of sessions."""
        if not self._paths:
            return self.sessions_screen()
        return InspectScreen(self._paths[0], self.settings, self._plan)

    def sessions_screen(self) -> Screen[None]:
        """The list of sessions: the named ones, and what is in the named folders or in the agents' own."""
        from inspector.ui.screens.sessions import SessionsScreen

        folders = [path for path in self._paths if path.is_dir()]
        return SessionsScreen([path for path in self._paths if path not in folders], folders or None)

    def action_sessions(self) -> None:
        """Choose another session."""
        self.push_screen(self.sessions_screen())

    def on_sessions_screen_chosen(self, event: SessionsScreen.Chosen) -> None:
        """Open it in place of the one that was open."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        if isinstance(self.screen, InspectScreen):
            self.screen.open_another(event.path)
        else:
            self.push_screen(InspectScreen(event.path, self.settings, self._plan))

    def on_mount(self) -> None:
        """Keep the screen quick while threads compute, and give keys the user's names."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self.set_keymap(dict(self.settings.keymap))
        for problem in self.settings.problems:
            self._tell_problem(problem)
        if self.settings.keymap:
            self._check_keymap()

    def _tell_problem(self, problem: str) -> None:
        self.notify(one_line(problem), title="Settings", severity="warning", timeout=SECONDS_OF_PROBLEM, markup=False)

    @work(thread=True, group="keymap", description="check the keymap", exit_on_error=False)
    def _check_keymap(self) -> None:
        """Find names and keys of the user's keymap that do nothing: to know all names, every screen is imported."""
        from inspector.ui.keymap import problems_with_keymap

        for problem in problems_with_keymap(self.settings.keymap):
            self.call_from_thread(self._tell_problem, f"keymap: {problem}")

    def _use_theme(self, name: str) -> bool:
        """Use a theme, if there is one of that name."""
        name = THEMES[name].name if name in THEMES else name
        if name in self.available_themes and name != self.theme:
            self.theme = name
        return self.theme == name

    def action_use_theme(self, name: str) -> None:
        """Use a theme now and the next time."""
        self._use_theme(name)
        self.keep_setting("theme", name)

    def keep_setting(self, name: str, value: str | float | bool) -> None:
        """Change a setting, in the user's file too."""
        try:
            self.settings = save_setting(self.settings, name, value)
        except OSError as error:
            self.notify(f"the setting could not be kept: {error.strerror}", severity="warning", markup=False)

    @on(InspectScreen.SettingChanged)
    def _setting_changed(self, event: InspectScreen.SettingChanged) -> None:
        self.keep_setting(event.name, event.value)

    def action_help(self) -> None:
        """Say what the keys do where the focus is."""
        from inspector.ui.help import help_sections
        from inspector.ui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(help_sections(self)))

    @work(group="dialog", exclusive=True, description="save a picture", exit_on_error=False)
    async def action_picture(self) -> None:
        """Save a picture of the screen, or of the context chart."""
        from inspector.ui.picturing import save_a_picture

        screen = next((each for each in self.screen_stack if isinstance(each, InspectScreen)), None)
        try:
            told = await save_a_picture(self, screen)
        except OSError as error:
            told = ""
            reason = error.strerror or str(error)
            self.notify(f"the picture could not be saved: {reason}", severity="error", markup=False)
        if told:
            self.notify(one_line(told), markup=False)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every command by name, those that apply now."""
        if isinstance(screen, InspectScreen | StudyScreen):
            yield from screen.commands()
        for name, words in THEME_WORDS.items():
            if self.theme != THEMES[name].name:
                yield SystemCommand(f"theme: {name.capitalize()}", words, partial(self.action_use_theme, name))
        yield SystemCommand("theme: Choose", "Any of Textual's themes", self.action_change_theme)
        yield SystemCommand("session: Open another", "Choose from a list of sessions", self.action_sessions)
        yield SystemCommand("picture: Save", "The screen or the context chart as an SVG file", self.action_picture)
        yield SystemCommand("help: Show keys", "What the keys do where the focus is", self.action_help)
        yield SystemCommand("inspector: Quit", "Leave", self.action_quit)
