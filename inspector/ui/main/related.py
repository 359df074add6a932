"""Links from a session to its subagents, its parent and the diagnostics of its file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.ui.toolkit.single_result_screen import open_over

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.screen import Screen

    from inspector.session.model import Session, SessionLink
    from inspector.ui.controller.host import IsCancelled, Post
    from inspector.ui.controller.session import SessionController
    from inspector.ui.main.timeline_pane import TimelinePane


class RelatedSessions:
    """Finds and opens the sessions linked to the row under the cursor."""

    def __init__(
        self, controller: SessionController, rows: TimelinePane, open_in_tab: Callable[[Path], object]
    ) -> None:
        self._controller = controller
        self._rows = rows
        self._open_in_tab = open_in_tab

    @property
    def are_there(self) -> bool:
        return self._controller.session is not None and bool(self._controller.session.links)

    @property
    def subagent(self) -> tuple[Session, SessionLink] | None:
        """The subagent under the cursor: the session that started it and the link to it; None if there is none."""
        session, view = self._controller.session, self._rows.view
        if session is None or view is None or not session.links:
            return None
        row = self._rows.timeline.cursor_row
        if row >= 0 and view.rows.subagent[row] >= 0:
            from inspector.ui.timeline.rows import started_at

            started = started_at(view.rows, row)
            return None if started is None else (started.session, started.link)
        block = self._rows.cursor_block
        if not 0 <= block < len(session.all_blocks):
            return None
        from inspector.session.related import subagent_of

        link = subagent_of(session, session.all_blocks[block].tool_call_id)
        return None if link is None else (session, link)

    @property
    def parent(self) -> SessionLink | None:
        """Link to the session that started this one; None if there is none."""
        session = self._controller.session
        if session is None or not session.links:
            return None
        from inspector.session.related import parent_of

        return parent_of(session)

    def open_subagent(self) -> None:
        if (subagent := self.subagent) is not None:
            self._open(*subagent)

    def open_parent(self) -> None:
        if self._controller.session is not None and (link := self.parent) is not None:
            self._open(self._controller.session, link)

    def _open(self, session: Session, link: SessionLink) -> None:
        def work(post: Post[Path | None], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.session.related import locate

            post(locate(session, link))

        take = partial(self._located, link)
        description = "find a related session"
        self._controller.host.run(work, take, group="link", description=description)

    def _located(self, link: SessionLink, path: Path | None) -> None:
        if path is not None:
            self._open_in_tab(path)
        else:
            self._controller.host.show_notice(f"cannot find the file of {link.title or link.identifier}")

    def show_diagnostics(self, screen: Screen[Any]) -> None:
        """Show over a screen the detected format, the reasons for it, the file's content, and unreadable records."""
        session, path, width = self._controller.session, self._controller.path, max(screen.size.width - 12, 40)
        if session is None:
            self._controller.host.show_notice("nothing read yet")
            return

        def work(post: Post[str], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            from inspector.report.session_listings import reading_text
            from inspector.session.errors import SessionError
            from inspector.session.registry import detect

            try:
                post(reading_text(detect(path), session, width=width))
            except SessionError as error:
                post(error.message)

        def show(text: str) -> None:
            from inspector.ui.dialogs.dialog import DiagnosticsScreen

            open_over(screen, DiagnosticsScreen(text))

        self._controller.host.run(work, show, group="diagnostics", description="show how the file was read")
