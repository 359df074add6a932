"""The main screen as host of an open session: its threads, frames and widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.ui.performance.mouse_throttle import take_newest_move
from inspector.ui.performance.painting import after_frame, hold_painting, in_one_frame
from inspector.ui.toolkit.single_result_screen import ScreenJobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from textual.screen import Screen
    from textual.timer import Timer


class ScreenHost(ScreenJobs):
    """Runs an open session on a screen; see `inspector.ui.controller.host.Host`."""

    def __init__(
        self,
        screen: Screen[Any],
        mount_rows: Callable[[], Awaitable[None]],
        mount_panes: Callable[[], Awaitable[None]],
        show_notice: Callable[[str, bool, bool], None],
    ) -> None:
        super().__init__(screen)
        self._make_rows = mount_rows
        self._mount_panes = mount_panes
        self._show_notice = show_notice

    def show_notice(self, notice: str, *, is_problem: bool = False, is_over: bool = False) -> None:
        """Show a notice; it may contain session text."""
        self._show_notice(notice, is_problem, is_over)

    async def mount_rows(self) -> None:
        """Mount the rows' widget."""
        await self._make_rows()

    async def mount_panes(self) -> None:
        """Mount the other panes."""
        await self._mount_panes()

    def later(self, seconds: float, do: Callable[[], Any]) -> Timer:
        """Call a function after a delay."""
        return self._screen.set_timer(seconds, do)

    def after_frame(self, do: Callable[[], Any]) -> None:
        """Call a function after the next complete frame."""
        after_frame(self._screen, do)

    def hold_frame(self) -> None:
        """Suspend painting until the next `one_frame`, for a few frames at most."""
        hold_painting(self._screen)

    def one_frame(self) -> AbstractAsyncContextManager[None]:
        """Paint all changes made within the context in one frame, including changes held back."""
        return in_one_frame(self._screen)

    async def take_newest_move(self) -> None:
        """Process the newest mouse move before anything else."""
        await take_newest_move(self._screen)

    def warm_up(self) -> None:
        """Import the modules that show rows."""
        import inspector.ui.timeline.widget  # noqa: F401  preloaded for the screen

    def warm_up_rest(self) -> None:
        """Import the modules that show the rest of a session."""
        import inspector.report.hook_trims
        import inspector.ui.chart.view
        import inspector.ui.chart.widget
        import inspector.ui.cost.summary
        import inspector.ui.cost.unplanned_lines
        import inspector.ui.detail.content
        import inspector.ui.detail.widget
        import inspector.ui.plan.panel  # noqa: F401  preloaded for the screen
