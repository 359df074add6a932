"""While there is no session to look at, keys that need one say so instead of doing nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding

from inspector.ui.screens.inspect_keys import INSPECT_BINDINGS
from inspector.ui.screens.related import Related

if TYPE_CHECKING:
    from textual import events

SERVE_WITHOUT = ("pane", "leave", "diagnostics", "zoom")
"""Actions of the main screen, beside those of the application, that need no session."""

_ACTIONS = {binding.action.partition("(")[0] for binding in Binding.make_bindings(INSPECT_BINDINGS)}
NEEDING = frozenset(action for action in _ACTIONS - set(SERVE_WITHOUT) if not action.startswith("app."))
"""Actions of the main screen's keys that need one."""


class Unopened(Related):
    """A session screen that may have nothing to show: the file is awaited, or is no session."""

    _says_unopened = False

    @property
    def is_unopened(self) -> bool:
        """Whether the file was looked at and there is no session in it, or none yet."""
        return self.session is None and self.state in ("waiting", "failed")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that need a session are not offered without one."""
        return False if action in NEEDING and self.is_unopened else super().check_action(action, parameters)

    def begin_at(self, *, is_live: bool) -> None:
        """There is a session: its keys are offered."""
        if self._says_unopened:
            self._says_unopened = False
            self.show_notice("")
        super().begin_at(is_live=is_live)
        self.refresh_bindings()

    def on_key(self, event: events.Key) -> None:
        """Say why a key does nothing."""
        if self.is_unopened and self._bindings.key_to_bindings.get(event.key):
            awaited = "it opens as soon as an agent writes it" if self.state == "waiting" else "o opens another one"
            self._says_unopened = True
            self.show_notice(f"no session is open here: {awaited}")
