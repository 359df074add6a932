"""Looking at a session: which row the cursor is on, as of which call, and what stands in the panes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from inspector.ui import numbers
from inspector.ui.main.plan_files import PlanFiles
from inspector.ui.toolkit.pane import Pane, Placeholder, Word, subtitle

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.ui.chart.widget import ContextChart
    from inspector.ui.detail.widget import Detail
    from inspector.ui.outcome import Outcome
    from inspector.ui.timeline.rows import Rows
    from inspector.ui.timeline.view import TimelineView
    from inspector.ui.timeline.widget import Timeline


class Parts(NamedTuple):
    """The widgets that show a session. They need numpy, so they are made when there is something to show.

    Attributes:
        chart: The prompt of every call.
        timeline: Its rows.
        detail: The block under the cursor.
    """

    chart: ContextChart
    timeline: Timeline
    detail: Detail


class Viewing(PlanFiles):
    """A session screen with a timeline, a detail and a chart."""

    parts: Parts | None = None
    """What shows the session; None before there is one."""
    by_time = False
    """The chart has an axis of time, not of calls."""

    @property
    def view(self) -> TimelineView | None:
        """What the timeline shows."""
        return None if self.parts is None else self.parts.timeline.view

    async def show_parts(self) -> Parts:
        """Put the widgets in their panes, once."""
        if self.parts is not None:
            return self.parts
        from inspector.ui.chart.widget import ContextChart
        from inspector.ui.detail.widget import Detail
        from inspector.ui.plan.panel import PlanPanel
        from inspector.ui.timeline.widget import Timeline

        parts = Parts(ContextChart(id="chart"), Timeline(id="timeline"), Detail(id="detail"))
        parts.timeline.logarithmic = self.settings.log_scale
        await self.query_one("#chart-pane", Pane).mount(parts.chart)
        await self.query_one("#timeline-pane", Pane).mount(parts.timeline)
        await self.query_one("#detail-pane", Pane).mount(parts.detail)
        self.panel = PlanPanel()
        await self.query_one("#plan-pane", Pane).mount(self.panel)
        self.parts = parts
        if self.focused is None:
            self.set_focus(parts.timeline)
        return parts

    def say_instead(self, word: Word | None) -> None:
        """Say something in place of the rows; None to show the rows."""
        placeholder = self.query_one(Placeholder)
        placeholder.display = word is not None
        if word is not None:
            placeholder.word = word
        if self.parts is not None:
            self.parts.timeline.display = word is None

    def show_timeline(self) -> None:
        """Rows and bars as of the call looked at."""
        from inspector.ui.timeline.tokens import row_tokens
        from inspector.ui.timeline.view import TimelineView

        outcome, rows, table, parts = self.outcome, self.rows_to_show(), self.table, self.parts
        if rows is None or table is None or parts is None:
            return
        tokens, uncounted = row_tokens(table, rows.history.characters)
        if outcome is None:
            view = TimelineView(rows, tokens, uncounted=uncounted)
        else:
            known = outcome.replay.figures.prompt_tokens.known.value
            reason = partial(_reason, outcome.replay, outcome.state.call)
            decisions = partial(decisions_of, outcome)
            view = TimelineView(
                rows,
                tokens,
                outcome.state,
                reason,
                known,
                decisions=decisions,
                tiers=partial(tiers_of, outcome),
                uncounted=uncounted,
            )
        parts.timeline.view = self.arranged(view)

    def rows_to_show(self) -> Rows | None:
        """The rows there are; None before the session was read."""
        return self.rows

    def arranged(self, view: TimelineView) -> TimelineView:
        """A view of all rows, made one of those to be shown."""
        return view

    def show_standing(self) -> None:
        """How much of the session is shown."""
        raise NotImplementedError

    def show_detail(self) -> None:
        """The block under the cursor."""
        from inspector.ui.detail.block import detail_of, detail_of_message
        from inspector.ui.timeline.arrangement import blocks_of_message

        parts, session, table, view = self.parts, self.session, self.table, self.view
        if parts is None or session is None or table is None or view is None or parts.timeline.cursor < 0:
            return
        row = view.row_at(min(parts.timeline.cursor, view.count - 1))
        if (inner := view.rows.inner_of(row)) is not None:
            subagent, inner_row = inner
            session, table, outcome, block = subagent.session, subagent.table, None, int(subagent.rows.block[inner_row])
        else:
            outcome, block = self.outcome, int(view.rows.block[row])
        if block < len(session.all_blocks):
            if view.is_folded(row):
                content = detail_of_message(
                    session, table, outcome, range(*blocks_of_message(view.rows.history, block))
                )
            else:
                content = detail_of(session, table, outcome, block)
            if not content.shows_the_same(parts.detail.content):
                parts.detail.content = content
            subtitle(self.query_one("#detail-pane", Pane), "" if content.note is None else content.note.summary)

    def show_chart(self) -> None:
        """Every call's prompt, and the call looked at."""
        from inspector.ui.chart.view import chart_of

        outcome, parts = self.outcome, self.parts
        if outcome is None or parts is None:
            return
        parts.chart.series = chart_of(outcome, self.call, by_time=self.by_time)
        self.show_place()
        moment = f"{moment_of(outcome, self.call)} · {prompts_known(outcome)}"
        subtitle(self.query_one("#chart-pane", Pane), moment)

    def action_chart_axis(self) -> None:
        """Give the chart an axis of time, or of calls."""
        if self.outcome is None or self.parts is None:
            return
        self.by_time = not self.by_time
        self.show_chart()
        if self.by_time and (self.parts.chart.series is None or not self.parts.chart.series.span):
            self.by_time = False
            self.show_notice("this session does not say when its calls were made")
        else:
            self.show_notice("the chart runs over time" if self.by_time else "the chart runs over calls")

    def look_at(self, call: int | None) -> None:
        """Show everything as of a call; None for the next one, not yet made."""
        self.call = call
        if call is not None and self.parts is not None:
            self.parts.timeline.follow = False
        outcome = self.outcome
        if outcome is None:
            return
        count = outcome.replay.history.call_count
        state = outcome.replay.state(count if call is None else min(call, count))
        self.outcome = replace(outcome, state=state)
        self.show_chart()
        self.show_timeline()
        self.show_detail()
        self.show_costs()
        self.show_standing()

    def show_place(self) -> None:
        """Mark on the chart the call that first sends the block under the cursor."""
        parts, history, outcome = self.parts, self.history, self.outcome
        if parts is None or history is None or outcome is None:
            return
        block = parts.timeline.cursor_block
        enters = int(history.enters[block]) if 0 <= block < len(history.enters) else -1
        parts.chart.here = enters if 0 <= enters < outcome.replay.history.call_count else None

    def on_context_chart_call_selected(self, event: ContextChart.CallSelected) -> None:
        """A call was pointed at in the chart: the rows go there too."""
        self.look_at_and_show(event.call)

    def on_context_chart_axis_clicked(self) -> None:
        """The chart gets the other axis."""
        self.action_chart_axis()

    def look_at_and_show(self, call: int) -> None:
        """Show everything as of a call, and the rows its prompt ends with."""
        self._look_at_place(call)
        parts, history = self.parts, self.history
        if parts is not None and history is not None and self.call is not None:
            message = int(history.call_last_message[self.call])
            if message >= 0:
                parts.timeline.move_to_block(int(history.message_first_block[message + 1]) - 1)

    def action_call(self, step: int) -> None:
        """Look at another call."""
        if self.outcome is None:
            return
        count = self.outcome.replay.history.call_count
        self._look_at_place((count if self.call is None else self.call) + step)

    def _look_at_place(self, call: int) -> None:
        if self.outcome is not None:
            count = self.outcome.replay.history.call_count
            self.look_at(None if call >= count else max(call, 0))

    def action_call_here(self) -> None:
        """Look at the call that first sends the row under the cursor; at a compaction, at the last one before it."""
        from inspector.ui.timeline.boundaries import calls_around

        view, parts, outcome = self.view, self.parts, self.outcome
        if view is None or parts is None or outcome is None or parts.timeline.cursor < 0:
            return
        row = view.row_at(min(parts.timeline.cursor, view.count - 1))
        history, block = outcome.replay.history, int(view.rows.block[row])
        around = calls_around(history, block) if view.rows.boundary[row] >= 0 else None
        if around is not None:
            self._look_at_place(around[0])
            before, after = (numbers.whole(call + 1) for call in around)
            self.show_notice(f"call {before} was the last one before this; ] shows call {after}, the first after it")
        elif block < len(history.enters) and 0 <= history.enters[block] < history.call_count:
            self._look_at_place(int(history.enters[block]))
        else:
            self.show_notice("no call made so far has sent this row")

    def action_now(self) -> None:
        """Back to the present."""
        if self.call is not None:
            self.look_at(None)
        if self.parts is not None:
            self.parts.timeline.action_last()

    def begin_at(self, *, is_live: bool) -> None:
        """Stay on the newest rows of a session that is being written."""
        if self.parts is not None:
            self.parts.timeline.mark_all_seen()
            self.parts.timeline.follow = is_live
            self.show_standing()

    def action_to_changed(self, step: int) -> None:
        """To another row the plan changed."""
        none = "the plan changes no row of this prompt"
        if self.plan is not None and not self.plan.strategies:
            none = "nothing is cut: no strategy of the plan is on, 1 switches its first one"
        none = "the plan is still being replayed" if self.is_replaying else none
        self._move_among(lambda view: view.changed_positions, step, none)

    def action_to_boundary(self, step: int) -> None:
        """To another place where a context begins."""
        self._move_among(lambda view: view.boundary_positions, step, "nothing was compacted")

    def action_to_risk(self, step: int) -> None:
        """To another row at which something may go wrong, and say what."""
        risks, view, parts = self.risks, self.view, self.parts
        if view is None or parts is None:
            return
        if risks is None or not len(risks.blocks):
            self.show_notice("nothing is known to go wrong with this plan")
            return
        self._move_among(risks.positions, step, "what may go wrong is not among the rows shown")
        self.show_notice(risks.sentence(parts.timeline.cursor_block))

    def action_to_error(self, step: int) -> None:
        """To another failed tool result."""
        self._move_among(lambda view: view.error_positions, step, "no tool result is marked as failed")

    def _move_among(self, positions: Callable[[TimelineView], NDArray[np.int32]], step: int, none: str) -> None:
        view, parts = self.view, self.parts
        if view is None or parts is None:
            return
        found = positions(view)
        if not parts.timeline.move_among(found, step):
            where = "none below the cursor; the capital letter goes up" if step > 0 else "none above the cursor"
            self.show_notice(where if len(found) else none)
        else:
            self.show_notice("")  # what was said of another place


def moment_of(outcome: Outcome, call: int | None) -> str:
    """Which call is looked at, and what its prompt comes to, as recorded and with the plan."""
    replay = outcome.replay
    count = replay.history.call_count
    if call is None or call >= count:
        return f"as of now, {numbers.plural(count, 'call')} made"
    recorded = int(outcome.baseline.ledger.prompt_tokens[call])
    parts = [f"as of call {numbers.whole(call + 1)} of {numbers.whole(count)}", f"{numbers.short(recorded)} tokens"]
    if replay is not outcome.baseline:
        parts[1] = f"recorded {numbers.short(recorded)}"
        parts.append(f"with the plan {numbers.short(int(replay.ledger.prompt_tokens[call]))}")
    return " · ".join(parts)


def prompt_told(outcome: Outcome, call: int) -> str:
    """What a call's prompt comes to, as recorded and with the plan, and how each is known; short."""
    recorded = int(outcome.baseline.ledger.prompt_tokens[call])
    known = outcome.baseline.figures.prompt_tokens.known.value
    said = f"call {numbers.whole(call + 1)}: {numbers.whole(recorded)} tokens {known}"
    if outcome.replay is outcome.baseline:
        return said
    planned = int(outcome.replay.ledger.prompt_tokens[call])
    return f"{said} → {numbers.whole(planned)} {outcome.replay.figures.prompt_tokens.known.value}"


def decisions_of(outcome: Outcome) -> tuple[NDArray[np.int64], tuple[tuple[str, str], ...]]:
    """Per block the decision in force at the call looked at, -1 for none; per decision its strategy and its part."""
    import numpy as np

    changes, entries = outcome.replay.changes, outcome.replay.plan.entries
    row = outcome.state.row
    if not len(changes.reason):
        return np.full(len(row), -1, dtype=np.int64), ()
    names = tuple(
        (entries[reason.entry].strategy.name if reason.entry >= 0 else "", reason.decision.group)
        for reason in changes.reasons
    )
    return np.where(row >= 0, changes.reason[row], -1), names


def tiers_of(outcome: Outcome) -> tuple[tuple[str, ...], ...]:
    """Per strategy of the plan, on or off, that sorts tools into tiers, for each tool of the session, its tier."""
    names = outcome.replay.history.tool_names
    sorting = (getattr(entry.strategy, "tier_of", None) for entry in outcome.plan.entries)
    return tuple(tuple(tier_of(name) for name in names) for tier_of in sorting if callable(tier_of))


def _reason(replay: Replay, call: int, block: int) -> str:
    return replay.reason(block, call)


def prompts_known(outcome: Outcome) -> str:
    """How the prompts of the chart are known, without the plan and with it."""
    recorded = outcome.baseline.figures.prompt_tokens.known.value
    planned = outcome.replay.figures.prompt_tokens.known.value
    return f"prompts {recorded}" if planned == recorded else f"prompts {recorded}, with the plan {planned}"
