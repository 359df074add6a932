"""The detail pane: the text of the block under the cursor, with search and pager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from inspector.report.numbers import ON_SCREEN
from inspector.safe_text import cell_width
from inspector.ui.controller.answers import HookTrims
from inspector.ui.controller.host import Change, IsCancelled, Post
from inspector.ui.main.session_pane import SessionPane
from inspector.ui.toolkit.pane import join_fitting, set_subtitle

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget

    from inspector.replay.analysis.compactions import CompactionAftermath, CompactionTotals
    from inspector.replay.engine.replay import Replay
    from inspector.ui.controller.session import SessionController
    from inspector.ui.detail.views import Shown
    from inspector.ui.detail.widget import Detail
    from inspector.ui.main.timeline_pane import TimelinePane
    from inspector.ui.timeline.boundaries import Boundary
    from inspector.ui.toolkit.find_bar import TextFind

    Followed = tuple[Replay, tuple[CompactionAftermath, ...], CompactionTotals | None]


BORDER_CELLS = 6
"""Width of the border and padding in the frame's bottom line, in cells."""


class DetailPane(SessionPane):
    """The pane with the content of the row under the cursor."""

    def __init__(self, controller: SessionController, rows: TimelinePane) -> None:
        super().__init__("Detail", id="detail-pane", controller=controller)
        self._rows = rows
        self._detail: Detail | None = None
        self._find_bar: TextFind | None = None
        self._known: Followed | None = None
        self._awaited: Replay | None = None
        self._waiting: Callable[[Detail], None] | None = None
        self._trims = HookTrims(controller.host, self.show_block)
        self.listen(
            controller,
            {
                Change.SESSION: self._show_session,
                Change.OUTCOME: self.show_block,
                Change.CALL: self.show_block,
                Change.ANSWERS: self.show_block,
                Change.RISKS: self.show_block,
                Change.SHOWN: self.show_block,
            },
        )

    async def open(self) -> None:
        from inspector.ui.detail.widget import Detail

        self._detail = Detail(id="detail")
        await self.mount(self._detail)
        self.watch(self._detail, "below", self._show_subtitle)

    def close(self) -> None:
        """Drop the text widget and its search line."""
        self._detail = self._find_bar = self._known = self._awaited = self._waiting = None

    @property
    def target(self) -> Widget:
        return self._detail or self

    @property
    def detail(self) -> Detail | None:
        """The text widget; None before there is a session."""
        return self._detail

    def _show_session(self) -> None:
        if self._detail is not None:
            self._trims.ask(self.controller.session)
            self.show_block()

    def show_block(self) -> None:
        """Show the row under the cursor, and run the action that waited for it."""
        if self._detail is not None:
            self._show_row(self._detail)
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                self._with_text(waiting)

    def _show_row(self, detail: Detail) -> None:
        """Show the block under the cursor, or all blocks of its message if that is folded."""
        from inspector.ui.detail.content import detail_of, detail_of_boundary, detail_of_message, detail_of_trim
        from inspector.ui.timeline.arrangement import blocks_of_message

        session, table, view, row = self.controller.session, self.controller.table, self._rows.view, self._rows.row
        if session is None or table is None or view is None or row < 0:
            return
        if (inner := view.rows.inner_of(row)) is not None:
            subagent, inner_row = inner
            session, table, outcome, block = subagent.session, subagent.table, None, int(subagent.rows.block[inner_row])
        else:
            outcome, block = self.controller.outcome, int(view.rows.block[row])
        if block >= len(session.all_blocks):
            return
        if view.is_folded(row):
            blocks = range(*blocks_of_message(view.rows.history, block))
            content = detail_of_message(session, table, outcome, blocks)
            parts = zip(content.parts, blocks, strict=True)
            described = (detail_of_trim(part, self._trims.found, session, index) for part, index in parts)
            content = replace(content, parts=tuple(described))
        else:
            content = detail_of_trim(detail_of(session, table, outcome, block), self._trims.found, session, block)
        miss = view.miss_at(row)
        if miss is not None:
            from inspector.ui.detail.views import detail_of_miss

            with_plan = outcome is not None and outcome.is_planned
            content = detail_of_miss(content, miss, view.rows.history, with_plan=with_plan)
        need = None if outcome is None or self.controller.risks is None else self.controller.risks.need_at(block)
        if need is not None:
            from inspector.ui.detail.views import detail_of_need

            content = detail_of_need(content, need, session)
        if (boundary := self._rows.boundary) is not None:
            baseline = None if outcome is None else outcome.baseline
            aftermath, totals = self._followed(boundary)
            content = detail_of_boundary(content, boundary, table, baseline, aftermath, totals)
        if not content.shows_the_same(detail.content):
            detail.content = content
        self._show_subtitle()

    def _followed(self, boundary: Boundary) -> tuple[CompactionAftermath | None, CompactionTotals | None]:
        """Return a compaction's aftermath and the totals of all; None while they are computed, which this starts."""
        outcome, effect = self.controller.outcome, boundary.effect
        if outcome is None or effect is None or not boundary.is_compaction:
            return None, None
        baseline = outcome.baseline
        if self._known is None or self._known[0] is not baseline:
            if self._awaited is not baseline:
                self._awaited = baseline

                def work(post: Post[Followed], is_cancelled: IsCancelled) -> None:  # noqa: ARG001  short
                    from inspector.replay.analysis.compactions import compaction_aftermaths, compaction_totals

                    post((baseline, compaction_aftermaths(baseline), compaction_totals(baseline)))

                what = "analyze the calls after compactions"
                self.controller.host.run(work, self._take_followed, group="aftermath", description=what)
            return None, None
        _, aftermaths, totals = self._known
        return next((each for each in aftermaths if each.call == effect.after + 1), None), totals

    def _take_followed(self, found: Followed) -> None:
        self._known = found
        self.show_block()

    def _all_compactions(self) -> tuple[str, ...]:
        """Return the totals of all compactions on a compaction row; empty on other rows and until they are computed."""
        boundary = self._rows.boundary
        totals = None if boundary is None else self._followed(boundary)[1]
        if totals is None:
            return ()
        from inspector.report.sentences import compactions_in_short

        return compactions_in_short(totals, ON_SCREEN)

    def _show_subtitle(self) -> None:
        """Show in the frame how many more rows the text has and its cuts."""
        if self._detail is not None and self._detail.content is not None:
            more, note = self._detail.below, self._detail.content.note
            rows = f"↓ {ON_SCREEN.plural(more, 'more row')}" if more else ""
            if note is None:
                text = (
                    join_fitting([each for each in (rows, *self._all_compactions()) if each], self.size.width) or rows
                )
            elif not rows:
                text = note.summary
            else:
                text = f"{note.summary} · {rows}"
                text = text if cell_width(text) <= self.size.width - BORDER_CELLS else f"↓ {note.summary}"
            set_subtitle(self, text)

    def _with_text(self, act: Callable[[Detail], None]) -> None:
        """Run an action of the text widget as soon as it shows a row."""
        if self._detail is None or self._detail.content is None:
            self._waiting = act
        else:
            act(self._detail)

    def show(self, shown: Shown) -> None:
        """Switch to a view of the text; if it is already shown, back to the previous view."""
        self._with_text(lambda detail: detail.action_show(shown))

    def to_next_cut(self) -> None:
        self._with_text(lambda detail: detail.action_next_note())

    def copy(self) -> None:
        self._with_text(lambda detail: detail.action_copy())

    def page_out(self) -> None:
        """Open the text in the user's pager."""
        self._with_text(lambda detail: detail.action_pager())

    async def on_detail_find_requested(self) -> None:
        from inspector.ui.toolkit.find_bar import TextFind

        if self._find_bar is None:
            self._find_bar = TextFind(lambda: self._detail)
            await self.mount(self._find_bar)
        self._find_bar.open()

    def on_find_line_changed(self, event: TextFind.Changed) -> None:
        if self._detail is not None and self._find_bar is not None:
            if not event.text:
                self._find_bar.show_message("")
            self._detail.search(event.text)

    def on_detail_counted(self, event: Detail.Counted) -> None:
        if self._find_bar is not None:
            self._find_bar.show_message(event.notice)

    def on_detail_notice(self, event: Detail.Notice) -> None:
        self.show_notice(event.notice)

    def on_detail_pager_requested(self, event: Detail.PagerRequested) -> None:
        """Suspend the app and run the user's pager."""
        from inspector.errors import TemporaryFolderError
        from inspector.ui.detail.views import PagerError, pager_command, show_in_pager

        try:
            command = pager_command()
            with self.app.suspend():
                show_in_pager(event.text, command)
        except (PagerError, TemporaryFolderError) as error:
            self.show_notice(error.message, is_problem=True)
        except SuspendNotSupported:
            self.show_notice("cannot open a pager here: it needs a terminal", is_problem=True)
