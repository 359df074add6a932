"""Jumping to what matters in a long session; and one text: searching, paging, enlarging it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import SuspendNotSupported

from inspector.ui.main.arranging import Arranging
from inspector.ui.toolkit.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.ui.detail.find_bar import TextFind
    from inspector.ui.detail.widget import Detail
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.jumps import Jump


class Jumping(Arranging):
    """A session screen with keys to the biggest rises of the context and to where the cache was lost."""

    _jumps_of: tuple[object, Callable[[Outcome], tuple[Jump, ...]], tuple[Jump, ...]] | None = None

    def action_to_rise(self, step: int) -> None:
        """To another of the places where the context grew most."""
        from inspector.ui.timeline.jumps import rises_of

        self._jump(rises_of, step, "the context never grew")

    def action_to_break(self, step: int) -> None:
        """To another call at which cached tokens were lost."""
        from inspector.ui.timeline.jumps import breaks_of

        self._jump(breaks_of, step, "no call loses what a cache held")

    def _jump(self, find: Callable[[Outcome], tuple[Jump, ...]], step: int, none: str) -> None:
        import numpy as np

        outcome, view, parts = self.outcome, self.view, self.parts
        if outcome is None or view is None or parts is None:
            return
        known = self._jumps_of
        if known is None or known[0] is not outcome.replay or known[1] is not find:
            known = self._jumps_of = (outcome.replay, find, find(outcome))
        jumps = known[2]
        places = view.positions_of_blocks(np.array([jump.block for jump in jumps], dtype=np.int32))
        if not len(places):
            self.show_notice(f"{none}, as far as rows are shown" if jumps else none)
        elif not parts.timeline.move_among(places, step):
            below = "below the cursor; the other key goes up"
            self.show_notice(f"none {below}" if step > 0 else "none above the cursor")
        else:
            cursor = parts.timeline.cursor
            here = (jump for jump in jumps if cursor in view.positions_of_blocks(np.array([jump.block])))
            self.show_notice(next((jump.text for jump in here), ""))


class Reading(Jumping):
    """A session screen whose detail can be searched, paged and enlarged."""

    ZOOMS: ClassVar[Mapping[str, str]] = {
        "chart-pane": "-zoom-chart",
        "timeline-pane": "-zoom-timeline",
        "detail-pane": "-zoom-detail",
    }
    """Per part of the screen, the class under which it has all of it."""

    text_find: TextFind | None = None
    """Made when it is first asked for."""

    async def on_detail_find_asked(self) -> None:
        """Ask what to look for in the text."""
        from inspector.ui.detail.find_bar import TextFind

        if self.text_find is None:
            self.text_find = TextFind()
            await self.query_one("#detail-pane", Pane).mount(self.text_find)
        self.text_find.open()

    def on_text_find_changed(self, event: TextFind.Changed) -> None:
        """Look for something else."""
        if self.parts is not None:
            self.parts.detail.search(event.text)

    def on_text_find_done(self) -> None:
        """Back to the text."""
        if self.parts is not None:
            self.parts.detail.focus()

    def on_detail_counted(self, event: Detail.Counted) -> None:
        """Say which of the places is looked at."""
        if self.text_find is not None:
            self.text_find.say(event.notice)

    def on_detail_told(self, event: Detail.Told) -> None:
        """Say what was done."""
        self.show_notice(event.notice)

    def on_detail_pager_asked(self, event: Detail.PagerAsked) -> None:
        """Give the terminal to the user's pager."""
        from inspector.ui.detail.pager import PagerError, pager_command, show_in_pager

        try:
            command = pager_command()
            with self.app.suspend():
                show_in_pager(event.text, command)
        except PagerError as error:
            self.show_notice(str(error), is_problem=True)
        except SuspendNotSupported:
            self.show_notice("a pager cannot be opened here: there is no terminal to give it", is_problem=True)

    def action_zoom(self) -> None:
        """Give the focused part the whole screen, or give it back."""
        focused = self.focused
        pane = None if focused is None else next((node.id for node in focused.ancestors if node.id in self.ZOOMS), None)
        self._zoom(pane)

    def on_pane_title_clicked(self, event: Pane.TitleClicked) -> None:
        """Give a part the whole screen, or give it back."""
        self._zoom(event.pane.id)

    def _zoom(self, pane: str | None) -> None:
        if self.zoomed:
            self.remove_class(*self.ZOOMS.values())
        elif pane is None or pane not in self.ZOOMS:
            self.show_notice("the timeline, the detail and the chart can have the whole screen: go to one of them")
        else:
            self.add_class(self.ZOOMS[pane])

    @property
    def zoomed(self) -> bool:
        """One part has the whole screen."""
        return any(self.has_class(name) for name in self.ZOOMS.values())
