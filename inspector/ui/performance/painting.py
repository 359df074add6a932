"""Painting: related changes in one frame, code after a frame, and partial updates of the changed widgets only."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from functools import cache, partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from textual._compositor import ChopsUpdate, Compositor
    from textual.geometry import Region
    from textual.message_pump import MessagePump
    from textual.screen import Screen
    from textual.timer import Timer


FRAME = 1 / 60
"""Seconds per frame on most screens."""

SECONDS_HELD = 0.05
"""Maximum seconds for which painting is suspended."""

SECONDS_UNPAINTED = 0.25
"""Timeout for a frame before code that waits for it runs anyway."""

TURNS_OF_WIDGETS = 3
"""Event loop turns in which every widget has requested its repaint."""


class PaintingApp(App[None]):
    """An app that can suspend painting.

    Painting the first part of a change separately would delay the rest of it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._held: ExitStack | None = None
        self._is_owed = False
        self._is_late = False

    def hold_painting(self) -> None:
        """Suspend painting until it is resumed, for a few frames at most.

        Resumed changes are painted before painting is suspended again, so that dragging never stops the screen. If the
        rest of a change took longer than that, nothing more is suspended until it has arrived.
        """
        if self._held is None and not self._is_owed and not self._is_late:
            self._held = ExitStack()
            self._held.enter_context(self.batch_update())
            self.set_timer(SECONDS_HELD, partial(self._give_up, self._held))

    def resume_painting(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
            self._is_owed = True
            self._ask_for_painting()

    def _ask_for_painting(self) -> None:
        """Request a paint of pending changes; an exiting app has no screen."""
        if self.screen_stack:
            self.screen.check_idle()

    def _give_up(self, held: ExitStack) -> None:
        if held is self._held:
            self._is_late = True
            self.resume_painting()

    def post_display_hook(self) -> None:
        """Record that resumed changes have been painted."""
        self._is_owed = False

    @asynccontextmanager
    async def in_one_frame(self) -> AsyncIterator[None]:
        """Paint all changes made within the context in one frame, including suspended ones.

        Each widget requests its repaint in its own task; late requests would wait for another frame.
        """
        with self.batch_update():
            self.resume_painting()
            self._is_late = False
            yield
            for _ in range(TURNS_OF_WIDGETS):
                await asyncio.sleep(0)
            self._is_owed = True
        # A screen that was idle while painting was suspended does not request a paint again.
        self._ask_for_painting()


def hold_painting(widget: Widget) -> None:
    """Suspend painting of the widget's app; see `PaintingApp.hold_painting`."""
    if isinstance(widget.app, PaintingApp):
        widget.app.hold_painting()


@asynccontextmanager
async def in_one_frame(widget: Widget) -> AsyncIterator[None]:
    """Paint all changes made within the context together; see `PaintingApp.in_one_frame`."""
    if isinstance(widget.app, PaintingApp):
        async with widget.app.in_one_frame():
            yield
    else:
        yield


def after_frame(asker: MessagePump, do: Callable[[], object]) -> None:
    """Call a function once, in the turn of `asker`, after all pending changes are on the screen.

    Textual's `call_after_refresh` leaves the callback with the screen on top, which delays it while another screen is
    on top and drops it when it closes. Nothing is called if `asker` has been closed by then. The function may be a
    coroutine function.
    """
    # Both lists are emptied afterwards: the timer refers to its callback, and the callback's references would otherwise
    # stay alive until garbage collection.
    due = [do]
    timers: list[Timer] = []

    async def once() -> None:
        while timers:
            timers.pop().stop()
        if due:
            what = due.pop()
            if isinstance(asker, Widget) and not asker.is_attached:
                return
            done = what()
            if isawaitable(done):
                await done

    timers.append(asker.set_timer(SECONDS_UNPAINTED, once))
    asker.call_after_refresh(once)


USED_OF_COMPOSITOR = ("visible_widgets", "render_partial_update", "cuts")
"""Private attributes of Textual's compositor that are used."""


def paint_changed_widgets_only(screen: Screen[Any]) -> bool:
    """Make a screen render only the widgets that changed.

    Textual renders every widget between the topmost and the lowest change, most of them unchanged. Only its private
    compositor controls this. If the compositor of this Textual release is incompatible, nothing changes.

    Returns:
        True if the screen uses the new compositor.
    """
    compositor = changed_widgets_compositor()
    if compositor is None or type(getattr(screen, "_compositor", None)) is not compositor.__base__:
        return False
    screen._compositor = compositor()  # noqa: SLF001  there is no public place for it
    return True


@cache
def changed_widgets_compositor() -> type[Compositor] | None:
    """Build a subclass of Textual's compositor that renders changed widgets only; None if it is incompatible."""
    try:
        from textual._compositor import Compositor
    except ImportError:
        return None
    if not all(hasattr(Compositor, name) for name in USED_OF_COMPOSITOR) or not hasattr(Compositor(), "_dirty_regions"):
        return None

    class ChangedWidgetsCompositor(Compositor):
        def __init__(self) -> None:
            super().__init__()
            self._asked: dict[Widget, tuple[Region, Region]] | None = None

        @property
        def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
            return super().visible_widgets if self._asked is None else self._asked

        def render_partial_update(self) -> ChopsUpdate | None:
            # Cached until the next layout, so compute it from all widgets.
            _ = self.cuts
            self._asked = visible_in(self.visible_widgets, self._dirty_regions)
            try:
                return super().render_partial_update()
            finally:
                self._asked = None

    return ChangedWidgetsCompositor


def visible_in(
    widgets: Mapping[Widget, tuple[Region, Region]], parts: Iterable[Region]
) -> dict[Widget, tuple[Region, Region]]:
    """Return the widgets visible in any of some regions, given widgets from front to back with region and clip."""
    visible = [(widget, region.intersection(clip)) for widget, (region, clip) in widgets.items()]
    seen = set()
    for part in parts:
        for widget, region in visible:
            if region and region.overlaps(part):
                seen.add(widget)
                if region.contains_region(part):
                    break
    return {widget: places for widget, places in widgets.items() if widget in seen}
