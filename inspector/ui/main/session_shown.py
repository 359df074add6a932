"""What a session screen shows, told by its data side: each method when what it is about has become something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from inspector.ui.controller.saved_state import SessionState
    from inspector.ui.outcome import Outcome


class SessionShown(Screen[None]):
    """The showing side of a session screen, to be implemented."""

    def show_progress(self, what: str, fraction: float | None, stop: str = "") -> None:
        """Work goes on, or (None) it is done."""
        raise NotImplementedError

    async def show_session(self) -> None:
        """There are other rows, counts or facts about the session."""
        raise NotImplementedError

    def restore(self, state: SessionState) -> None:
        """The session was left in some state the last time."""
        raise NotImplementedError

    def begin_at(self, *, is_live: bool) -> None:
        """All rows are there: look at the newest where the session is being written, else at the first."""
        raise NotImplementedError

    def show_heading(self) -> None:
        """What is known of the session and its file in a few words is something else."""
        raise NotImplementedError

    def show_plan(self) -> None:
        """The plan is another one."""
        raise NotImplementedError

    def show_outcome(self) -> None:
        """A replay came back, or another call is looked at."""
        raise NotImplementedError

    def measure(self, outcome: Outcome) -> None:
        """A replayed plan stands for the moment: what else there is to say about it may be worked out."""

    def show_replaying(self, *, is_replaying: bool) -> None:
        """What is shown is of an earlier plan, and a replay that takes a while is under way."""
        raise NotImplementedError

    def show_risks(self) -> None:
        """What may go wrong with the plan is known."""
        raise NotImplementedError

    def show_costs(self) -> None:
        """What the plan saves, or how far that may be off, is known better."""
        raise NotImplementedError

    def show_waiting(self, reason: str) -> None:
        """Say that there is no session yet."""
        raise NotImplementedError

    def show_failure(self, reason: str, *, is_folder: bool = False) -> None:
        """The file cannot be read, or is a folder of other sessions."""
        raise NotImplementedError

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Something the user should know; may hold session text.

        Args:
            notice: What it is.
            is_problem: It went wrong.
            is_over: The problem told before it is one no longer.
        """
        raise NotImplementedError
