"""Full explanation of a figure (formula, inputs, source), with neighboring figures one key away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from rich.cells import cell_len
from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from inspector.replay.analysis.breakdown import Breakdown, results_by_difference
from inspector.replay.analysis.compactions import calls_around
from inspector.replay.analysis.forecast import CacheSpread, project_runs, run_seconds
from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.analysis.recoveries import recoveries
from inspector.replay.engine.replay import replay
from inspector.replay.explain.cost_sheet import outcome_explanations
from inspector.replay.explain.explanation import (
    block_explanation,
    breakdown_explanation,
    overhead_explanation,
    prompt_explanation,
    replay_explanations,
    resent_explanation,
    row_explanation,
)
from inspector.replay.figure import HowKnown
from inspector.report.numbers import ON_SCREEN
from inspector.report.sentences import REPLAY_CAVEAT, explained_value
from inspector.safe_text import one_line
from inspector.ui.actions.action import bindings
from inspector.ui.actions.screens import EXPLAIN
from inspector.ui.dialogs import Dialog, framed
from inspector.ui.figure_table.table import Cell, Column, FigureRow, Table
from inspector.ui.figure_table.widget import FigureTable
from inspector.ui.outcome import Outcome
from inspector.ui.part_names import BOUNDARY, CHART, PLAN, TIMELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from inspector.replay.analysis.reuse import ReuseScan
    from inspector.replay.assumptions import Assumptions, RunsPerDay
    from inspector.replay.explain.explanation import Explanation
    from inspector.strategies.plan import Plan


FAINT = "$text-muted"

MEANINGS = {
    "exact": "exact: reported by the provider, or counted in the file",
    "calibrated": "calibrated: fitted to reported usage",
    "estimated": "estimated: local estimate or default",
    "projected": "projected: for calls that did not happen",
}
"""Explanation of each confidence, as a full line."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A figure and its explanation.

    Attributes:
        name: Name of the figure; may hold session text.
        explanation: How it is calculated.
        shown: The figure as displayed on the screen; empty for the default format.
    """

    name: str
    explanation: Explanation
    shown: str = ""


def explanation_content(explanation: Explanation, *, in_lines: bool) -> Content:
    """Render the formula, the confidence, the inputs and the sources of a figure.

    Args:
        explanation: The explanation.
        in_lines: Put every input on its own line instead of in one paragraph.
    """
    numbered = [
        Content.assemble((f"{one_line(given.label).strip()} ", FAINT), written)
        for given, written in zip(explanation.inputs, _written(explanation), strict=True)
    ]
    if in_lines:
        given = Content("\n").join([Content.assemble("  ", each) for each in numbered])
    else:
        given = Content.styled(" · ", FAINT).join(numbered)
    parts = [
        Content.styled(f"{explanation.formula[:1].upper()}{explanation.formula[1:]}.", "bold"),
        Content.styled(f"{MEANINGS[explanation.known.value]}.", ""),
        *([given] if numbered else []),
        Content.styled(f"Source: {one_line(explanation.source)}.", FAINT),
        *([Content.styled(f"{REPLAY_CAVEAT}.", FAINT)] if in_lines else []),
    ]
    return Content("\n").join(parts)


def _written(explanation: Explanation) -> list[str]:
    """Format the inputs. Dollars that add up to the figure are rounded as in the cost table."""
    amounts = [given.value for given in explanation.inputs if given.is_part]
    parts = iter(ON_SCREEN.dollars_of_parts(explanation.value, [each for each in amounts if not isinstance(each, str)]))
    return [
        next(parts) if given.is_part else ON_SCREEN.quantity(given.value, given.unit) for given in explanation.inputs
    ]


LONGEST_VALUE = 24

LEAST_ROWS = 6


class ExplainedFigures(FigureTable):
    """Table of the explained figures."""

    HELP = "Figures from the screen. Below is the calculation of the one under the cursor."


class ExplainScreen(Dialog[None]):
    """Dialog over the screen with the explained figures."""

    DEFAULT_CSS = """
    ExplainScreen {
        align: center middle;
        & > .dialog { width: 90%; max-width: 110; height: auto; max-height: 95%; }
        & ExplainedFigures { height: auto; margin-bottom: 1; }
        & VerticalScroll { height: auto; max-height: 24; scrollbar-size-vertical: 1; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(EXPLAIN)

    def __init__(self, figures: Sequence[Explained], first: int = 0) -> None:
        """Create the screen.

        Args:
            figures: Figures to explain; at least one.
            first: Index of the initial one.
        """
        super().__init__()
        self._figures = figures
        self._first = first

    def compose(self) -> ComposeResult:
        with framed(
            "Calculation",
            *([("↑↓ another figure", "")] if len(self._figures) > 1 else []),
            ("esc closes", "dismiss"),
        ):
            yield ExplainedFigures(id="explained")
            with VerticalScroll(can_focus=len(self._figures) == 1):
                yield Static(id="explanation", markup=False)

    def on_mount(self) -> None:
        table = self.query_one(ExplainedFigures)
        table.styles.height = min(len(self._figures), max(LEAST_ROWS, self.app.size.height // 2 - 5)) + 1
        table.table = _table(self._figures)
        table.focus()
        table.move_to(self._first)

    @on(FigureTable.Highlighted)
    def _explain(self, event: FigureTable.Highlighted) -> None:
        if not isinstance(event.key, int):
            return
        explanation = self._figures[event.key].explanation
        self.query_one("#explanation", Static).update(explanation_content(explanation, in_lines=True))
        self.query_one(VerticalScroll).scroll_home(animate=False)


def _table(figures: Sequence[Explained]) -> Table:
    """Build a row per figure. Value columns are as narrow as possible, to leave room for the names."""
    rows = tuple(_row(at, each) for at, each in enumerate(figures))
    longest = min(max(cell_len(row.cells["value"].text) for row in rows), LONGEST_VALUE)
    columns = (
        Column("name", "figure", 24, 60, is_text=True, falls=False),
        Column("value", "", longest),
        Column("known", "known", 10, is_text=True, rank=1, falls=False),
    )
    return Table(columns, rows)


def _row(place: int, each: Explained) -> FigureRow:
    explanation = each.explanation
    known, shown = explanation.known.value, each.shown or explained_value(explanation, ON_SCREEN)
    return FigureRow(
        place,
        {
            "name": Cell(one_line(each.name), style="table--name", order=each.name),
            "value": Cell(shown, shown.partition(",")[0] if explanation.band else "", order=explanation.value),
            "known": Cell(known, style="table--known", order=known),
        },
    )


_COST_NAMES: Final = {
    "cost_usd": "cost with the plan",
    "saved_usd": "saved",
    "saved_share": "saved, of the cost",
    "saved_tokens": "saved tokens",
    "break_usd": "cost of changes",
    "break_even_call": "breaks even at call",
    "usd_per_day": "saved per day",
    "usd_per_month": "saved per month",
    "breaks": "prompts changed by the plan",
    "prompt_tokens": "prompt tokens",
    "peak_prompt_tokens": "largest prompt",
    "cache_read_share": "cache reads, share of prompts",
}


def explained_focus(
    outcome: Outcome, focus: tuple[str, int], terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[tuple[Explained, ...], int]:
    """Return the explained figures of a pane and the index of the first one to show.

    Args:
        outcome: The outcome on the screen.
        focus: The pane, see `inspector.ui.part_names`, and the block under the cursor: the first one after a boundary,
            -1 for none. A block that was not replayed yet counts as none.
        terms: Assumptions.
        runs_per_day: Number of such sessions per day.
        search: Finds where the session reused content of its tool results.
    """
    part, block = focus
    if part == TIMELINE and 0 <= block < len(outcome.state.sent):
        return _of_block(outcome, block), 0
    if part == BOUNDARY:
        return _of_boundary(outcome, block), 0
    if part == CHART:
        return _of_prompts(outcome), 0
    if part == PLAN:
        return _of_plan(outcome) or _of_costs(outcome, terms, runs_per_day, search), 0
    return _of_costs(outcome, terms, runs_per_day, search), 0


def explained_plan(
    outcome: Outcome, plan: Plan, terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[Explained, ...]:
    """Return the explained costs of another plan on the same session.

    Args:
        outcome: The outcome on the main screen.
        plan: The plan; strategies that are off are ignored.
        terms: Assumptions.
        runs_per_day: Number of such sessions per day.
        search: Finds where the session reused content of its tool results.
    """
    baseline = outcome.baseline
    planned = replay(outcome.inputs, plan) if plan.strategies else baseline
    state = planned.state(outcome.inputs.history.call_count)
    there = Outcome(plan, baseline, planned, plan_outcome(baseline, planned), None, state, outcome.terms)
    return _of_costs(there, terms, runs_per_day, search)


def _of_block(outcome: Outcome, block: int) -> tuple[Explained, ...]:
    replay, state = outcome.replay, outcome.state
    differences = results_by_difference(outcome.inputs)
    tallies = Breakdown(outcome.baseline, replay)
    is_fitted = outcome.inputs.scale.known is HowKnown.CALIBRATED
    scale = "calibrated to reported usage" if is_fitted else "scaled to the model"
    return (
        Explained(f"tokens of this row, {scale}", row_explanation(replay, state, block)),
        Explained("  as sent in the prompt", block_explanation(replay, state, block, differences)),
        Explained("cost of resending it", resent_explanation(block, tallies.block(block), replay, differences)),
        *_of_prompts(outcome),
    )


def _of_boundary(outcome: Outcome, block: int) -> tuple[Explained, ...]:
    around = calls_around(outcome.inputs.history, block)
    if around is None:
        return _of_prompts(outcome)
    prompts = zip(("before", "after"), around, strict=True)
    parts = [
        Explained(f"prompt {when} it, call {call + 1:,}", prompt_explanation(outcome.replay, call))
        for when, call in prompts
    ]
    return (*parts, _of_overhead(outcome, around[1]))


def _of_prompts(outcome: Outcome) -> tuple[Explained, ...]:
    call, count = outcome.state.call, outcome.inputs.history.call_count
    name = "the next prompt" if call >= count else f"the prompt of call {call + 1:,}"
    found = [Explained(name, prompt_explanation(outcome.replay, call))]
    if outcome.replay is not outcome.baseline and call < count:
        found.append(Explained("  without the plan", prompt_explanation(outcome.baseline, call)))
    return (*found, _of_overhead(outcome, call))


def _of_overhead(outcome: Outcome, call: int) -> Explained:
    return Explained("  of it, system prompt and tools", overhead_explanation(outcome.inputs, call))


def _of_plan(outcome: Outcome) -> tuple[Explained, ...]:
    if outcome.replay is outcome.baseline:
        return ()
    entries = outcome.replay.plan.entries
    return tuple(
        Explained(f"{entries[entry].strategy.name} {group}".rstrip(), breakdown_explanation(row, outcome.replay))
        for (entry, group), row in Breakdown(outcome.baseline, outcome.replay).by_tier().items()
    )


def _of_costs(
    outcome: Outcome, terms: Assumptions, runs_per_day: RunsPerDay, search: ReuseScan
) -> tuple[Explained, ...]:
    recorded = replay_explanations(outcome.baseline)["cost_usd"]
    if outcome.replay is outcome.baseline:
        return (Explained("cost", recorded), *_of_prompts(outcome))
    before = Explained("cost without the plan", recorded)
    costs = outcome.baseline.ledger.cost, outcome.replay.ledger.cost
    recovered = recoveries(outcome.baseline, outcome.replay, search.run_to_the_end())
    spread = CacheSpread.between(outcome.baseline, outcome.replay)
    days, worst = terms.days_per_month, recovered.cost_at_worst
    seconds = run_seconds(outcome.baseline.history.session)
    runs = project_runs(*costs, runs_per_day, days, recovered.cost_at, spread, worst, seconds)
    found = outcome_explanations(outcome.baseline, outcome.replay, outcome.totals, runs)
    cost = found["cost_usd"]
    # Rounded as everywhere, so that cost and saving add up.
    found["cost_usd"] = replace(cost, value=ON_SCREEN.cost_with_plan(recorded.value, cost.value))
    return (before, *(Explained(label, found[name]) for name, label in _COST_NAMES.items() if name in found))
