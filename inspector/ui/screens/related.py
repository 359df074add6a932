"""From a session to those that belong to it, and to what reading its file came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work
from textual.app import SystemCommand

from inspector.ui.screens.studying import Studying

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inspector.session.model import Session, SessionLink


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
        from inspector.report.format_pages import reading_text
        from inspector.session.errors import SessionError
        from inspector.session.registry import detect
        from inspector.ui.screens.diagnostics import DiagnosticsScreen

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
