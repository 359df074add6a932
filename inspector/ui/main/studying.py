"""The ways from the main screen to others: studies, subagents, parent, diagnostics; and having no session."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import SystemCommand
from textual.binding import Binding
from textual.signal import Signal

from inspector.ui.main.costing import Costing
from inspector.ui.main.keys import INSPECT_BINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from textual import events
    from textual.screen import Screen

    from inspector.session.model import Session, SessionLink
    from inspector.strategies.plan import Plan
    from inspector.ui.outcome import Outcome
    from inspector.ui.settings import Settings


OF_CALLS = ("compare", "tune")
"""Studies of what plans make of the calls: without any, all would be nothing."""


class Studying(Costing):
    """A session screen over which others can be opened."""

    STUDIES: ClassVar[Mapping[str, tuple[str, str]]] = {
        "compare": ("inspector.ui.compare.screen", "CompareScreen"),
        "tune": ("inspector.ui.tune.screen", "TuneScreen"),
        "composition": ("inspector.ui.breakdown.screen", "CompositionScreen"),
        "costs": ("inspector.ui.cost.screen", "CostsScreen"),
    }
    """Per name, the module and the class of a screen. They need numpy and every strategy, so they are imported late."""

    def __init__(self, path: Path, settings: Settings, plan: Plan | None = None) -> None:
        super().__init__(path, settings, plan)
        self.outcome_changed: Signal[Outcome | None] = Signal(self, "outcome changed")
        """Published when a replay came back, or another call is looked at."""

    def look_at(self, call: int | None) -> None:
        """Show everything as of a call; None for the next one, not yet made."""
        super().look_at(call)
        self.outcome_changed.publish(self.outcome)

    def action_study(self, name: str) -> None:
        """Open a screen that studies the session."""
        if self.outcome is None:
            self.show_notice("there is nothing to look at yet")
            return
        if name in OF_CALLS and not self.outcome.replay.history.call_count:
            self.show_notice("no call was made yet: there is nothing a plan could have changed")
            return
        module, kind = self.STUDIES[name]
        screen: Screen[None] = getattr(import_module(module), kind)(self)
        self.app.push_screen(screen)

    def study_commands(self) -> Iterable[SystemCommand]:
        """What the command palette offers of them."""
        if self.outcome is not None:
            text = "Every strategy and this plan on this session, as a table"
            yield SystemCommand("plan: Compare", text, lambda: self.action_study("compare"))
            text = "What a limit of the plan comes to over its whole range"
            yield SystemCommand("plan: Tune", text, lambda: self.action_study("tune"))
            text = "Every figure of the plan, what it is projected to, and on which terms"
            yield SystemCommand("cost: Figures", text, lambda: self.action_study("costs"))
            text = "What the prompt is made of, what of it costs most, and what is in it twice"
            yield SystemCommand("call: Composition", text, lambda: self.action_study("composition"))


class Related(Studying):
    """A session screen from which its subagents and its parent can be opened."""

    def open_beside(self, path: Path) -> None:
        """Open another session beside this one."""
        raise NotImplementedError

    @property
    def subagent(self) -> tuple[Session, SessionLink] | None:
        """The subagent the cursor leads to, and the session that started it; None where it leads to none."""
        session, parts = self.session, self.parts
        if session is None or parts is None or not session.links:
            return None
        row = parts.timeline.cursor_row
        if self.view is not None and row >= 0 and self.view.rows.subagent[row] >= 0:
            from inspector.ui.timeline.subagents import started_at

            started = started_at(self.view.rows, row)
            return None if started is None else (started.session, started.link)
        block = parts.timeline.cursor_block
        if not 0 <= block < len(session.all_blocks):
            return None
        from inspector.session.related import subagent_of

        link = subagent_of(session, session.all_blocks[block].tool_call_id)
        return None if link is None else (session, link)

    @property
    def parent_session(self) -> SessionLink | None:
        """The session that started this one; None where nothing did."""
        if self.session is None or not self.session.links:
            return None
        from inspector.session.related import parent_of

        return parent_of(self.session)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that lead nowhere are not offered."""
        if action == "open_subagent":
            return self.subagent is not None
        if action == "open_parent":
            return self.parent_session is not None
        return super().check_action(action, parameters)

    def action_open_subagent(self) -> None:
        """Open the subagent that the call under the cursor started."""
        if (subagent := self.subagent) is not None:
            self._open_link(*subagent)

    def action_open_parent(self) -> None:
        """Open the session that started this one."""
        if self.session is not None and (link := self.parent_session) is not None:
            self._open_link(self.session, link)

    @work(thread=True, group="link", exclusive=True, description="find a session that belongs to this one")
    def _open_link(self, session: Session, link: SessionLink) -> None:
        from inspector.session.related import locate

        path = locate(session, link)
        if path is not None:
            self.app.call_from_thread(self.open_beside, path)
        else:
            what = f"the file of {link.title or link.identifier} is not there"
            self.app.call_from_thread(self.show_notice, what)

    @work(thread=True, group="diagnostics", exclusive=True, description="say how the file was read")
    def action_diagnostics(self) -> None:
        """Say what the file was taken for and why, what is in it, and what could not be read."""
        from inspector.report.session_listings import reading_text
        from inspector.session.errors import SessionError
        from inspector.session.registry import detect
        from inspector.ui.dialogs.diagnostics_dialog import DiagnosticsScreen

        session = self.session
        if session is None:
            self.app.call_from_thread(self.show_notice, "nothing was read yet")
            return
        try:
            text = reading_text(detect(self.path), session, width=max(self.size.width - 12, 40))
        except SessionError as error:
            text = error.message
        self.app.call_from_thread(self.app.push_screen, DiagnosticsScreen(text))

    def related_commands(self) -> Iterable[SystemCommand]:
        """What the command palette offers of them."""
        if self.session is not None:
            text = "What the file was taken for, what is in it, what could not be read"
            yield SystemCommand("session: Diagnostics", text, self.action_diagnostics)
        if self.subagent is not None:
            yield SystemCommand("session: Open subagent", "Started by this call", self.action_open_subagent)
        if self.parent_session is not None:
            yield SystemCommand("session: Open parent", "It started this session", self.action_open_parent)


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
