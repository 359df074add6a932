"""The main screen as what an open session runs in: its threads, its frames, and the widgets it is shown with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.performance.frame_batching import after_frame, hold_painting, in_one_frame
from inspector.ui.performance.mouse_throttle import take_newest_move
from inspector.ui.toolkit.screen_jobs import ScreenJobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from textual.screen import Screen
    from textual.timer import Timer


class ScreenHost(ScreenJobs):
    """Runs an open session on a screen; see `inspector.ui.controller.host_protocols.Host`."""

    def __init__(
        self,
        screen: Screen[Any],
        make_rows: Callable[[], Awaitable[None]],
        make_room: Callable[[], Awaitable[None]],
        tell: Callable[[str, bool, bool], None],
    ) -> None:
        """Make a host.

        Args:
            screen: Whose threads, timers and frames are used.
            make_rows: Makes the widgets that show rows, once.
            make_room: Makes the others that show a session, once.
            tell: Tells the user something: what, whether it went wrong, and whether what was told before is over.
        """
        super().__init__(screen)
        self._make_rows = make_rows
        self._make_room = make_room
        self._tell = tell

    def tell(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Tell the user something; may hold session text."""
        self._tell(notice, is_problem, is_over)

    async def make_rows(self) -> None:
        """Make what shows rows, before there are any."""
        await self._make_rows()

    async def make_room(self) -> None:
        """Make what shows the rest of a session, before it is shown."""
        await self._make_room()

    def later(self, seconds: float, do: Callable[[], Any]) -> Timer:
        """Do something after a while."""
        return self._screen.set_timer(seconds, do)

    def after_frame(self, do: Callable[[], Any]) -> None:
        """Do something once everything that is to be shown is on the screen."""
        after_frame(self._screen, do)

    def hold_frame(self) -> None:
        """Paint nothing until the next `one_frame`, or for a few frames at most."""
        hold_painting(self._screen)

    def one_frame(self) -> AbstractAsyncContextManager[None]:
        """Paint together what is changed within, and what was held back."""
        return in_one_frame(self._screen)

    async def take_newest_move(self) -> None:
        """Follow the mouse to where it is before anything else."""
        await take_newest_move(self._screen)

    def warm_up(self) -> None:
        """Import what will show rows."""
        import inspector.ui.timeline.widget  # noqa: F401  imported for the screen

    def warm_up_rest(self) -> None:
        """Import what will show the rest of a session."""
        import inspector.report.hook_trims
        import inspector.ui.chart.view
        import inspector.ui.chart.widget
        import inspector.ui.cost.answers
        import inspector.ui.cost.summary
        import inspector.ui.detail.content
        import inspector.ui.detail.trim
        import inspector.ui.detail.widget
        import inspector.ui.plan.panel  # noqa: F401  imported for the screen
