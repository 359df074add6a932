"""Painting only the widgets that changed, and what covers them, when a part of the screen is painted."""

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
"""What is used of Textual's compositor, which is no part of its public interface."""


def paint_changed_widgets_only(screen: Screen[Any]) -> bool:
    """Have a screen ask only the widgets that changed for their lines.

    Textual asks every widget between the highest and the lowest change; most of them have nothing new to give. Only the
    compositor it keeps to itself decides who is asked. Where this release of Textual has another one, nothing is
    changed and all are asked, as without this.

    Returns:
        Whether the screen paints so from now on.
    """
    compositor = changed_widgets_compositor()
    if compositor is None or type(getattr(screen, "_compositor", None)) is not compositor.__base__:
        return False
    screen._compositor = compositor()  # noqa: SLF001  there is no public place for it
    return True


@cache
def changed_widgets_compositor() -> type[Compositor] | None:
    """Textual's compositor, asking changed widgets only; None where this release has none that it can be made from."""
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
            # Remembered until the next layout, so it has to be worked out from all widgets.
            _ = self.cuts
            self._asked = seen_in(self.visible_widgets, self._dirty_regions)
            try:
                return super().render_partial_update()
            finally:
                self._asked = None

    return ChangedWidgetsCompositor


def seen_in(
    widgets: Mapping[Widget, tuple[Region, Region]], parts: Iterable[Region]
) -> dict[Widget, tuple[Region, Region]]:
    """The widgets that show in any of some parts of the screen.

    Args:
        widgets: Widgets from front to back, with their region and the region it is clipped to.
        parts: Parts of the screen.
    """
    visible = [(widget, region.intersection(clip)) for widget, (region, clip) in widgets.items()]
    seen = set()
    for part in parts:
        for widget, region in visible:
            if region and region.overlaps(part):
                seen.add(widget)
                if region.contains_region(part):
                    break
    return {widget: places for widget, places in widgets.items() if widget in seen}
