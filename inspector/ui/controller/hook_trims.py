"""Results of the open session trimmed by the hook, read in a thread and reread after further trims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.report.hook_trims import SessionTrims, StoreStamp
    from inspector.session.model import Session
    from inspector.ui.controller.host_protocols import IsCancelled, Post


class RunsJobs(Protocol):
    """Runs work in threads, one run per group."""

    def run(
        self,
        work: Callable[[Post[SessionTrims | None], IsCancelled], None],
        take: Callable[[SessionTrims | None], object],
        *,
        group: str,
        description: str,
    ) -> object: ...


class HookTrims:
    """Reads the hook's trims of a session.

    Attributes:
        found: The trims; None if there are none, and until they are read.
    """

    def __init__(self, jobs: RunsJobs, on_change: Callable[[], object]) -> None:
        """Start without trims; `on_change` is called when they change."""
        self.found: SessionTrims | None = None
        self._jobs = jobs
        self._on_change = on_change
        self._asked: tuple[str, StoreStamp | None] = ("", None)

    def ask(self, session: Session | None) -> None:
        """Read the session's trims if they may have changed."""
        from inspector.report.hook_trims import session_trims, store_stamp

        identifier = "" if session is None else session.identifier
        asked = identifier, store_stamp() if identifier else None
        if asked == self._asked:
            return
        self._asked = asked
        if session is None or asked[1] is None:
            self._take(None)
            return

        def work(post: Post[SessionTrims | None], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
            post(session_trims(session))

        self._jobs.run(work, self._take, group="hook trims", description="read the hook's trims")

    def _take(self, found: SessionTrims | None) -> None:
        if found != self.found:
            self.found = found
            self._on_change()
