"""A compositor that renders only the changed widgets, and those that overlap them, in partial updates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual._compositor import ChopsUpdate, Compositor
    from textual.geometry import Region
    from textual.screen import Screen
    from textual.widget import Widget

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
