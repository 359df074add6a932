"""The application: themes, settings, and the screen of a session."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from inspector.ui.screens.inspect import InspectScreen
from inspector.ui.settings import Settings, load_settings
from inspector.ui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.strategies.plan import Plan

SWITCH_INTERVAL = 0.0005
"""Seconds a thread computes before another may: decoding and counting then cost the screen a millisecond, not five."""


class InspectorApp(App[None]):
    """Opens a session file and follows it."""

    TITLE = "inspector"
    CSS_PATH = "inspector.tcss"

    def __init__(
        self, paths: Path | Sequence[Path], *, plan: Plan | None = None, settings: Settings | None = None
    ) -> None:
        """Make the application.

        Args:
            paths: The session to open; where there are several, the others are a key away.
            plan: The plan to begin with; None for the one last used on the session, or one that fits it.
            settings: Settings to use instead of the user's own.
        """
        super().__init__()
        self._paths = tuple(paths) if isinstance(paths, (list, tuple)) else (paths,)
        self._plan = plan
        self.settings = settings or load_settings()
        for theme in THEMES.values():
            self.register_theme(theme)

    def on_mount(self) -> None:
        """Show the first session."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        theme = THEMES.get(self.settings.theme)
        self.theme = theme.name if theme is not None else self.settings.theme
        self.push_screen(InspectScreen(self._paths[0], self.settings, self._plan))
