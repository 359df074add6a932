"""Painting only the widgets that changed, and what covers them, when a part of the screen is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual._compositor import ChopsUpdate, Compositor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from textual.geometry import Region
    from textual.widget import Widget


class ChangedWidgetsCompositor(Compositor):
    """Textual's compositor, which asks every widget between the highest and the lowest change for its lines.

    Most of them have none to give. It reaches into what Textual keeps to itself, because nothing else decides who is
    asked; should that be named otherwise one day, all are asked again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[Widget, tuple[Region, Region]] | None = None

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """Widgets, from front to back, with their region and what it is clipped to; those asked while they are."""
        return super().visible_widgets if self._asked is None else self._asked

    def render_partial_update(self) -> ChopsUpdate | None:
        """What changed since the screen was painted."""
        # Remembered until the next layout, so it has to be worked out from all widgets.
        _ = self.cuts
        self._asked = seen_in(self.visible_widgets, self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._asked = None


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
