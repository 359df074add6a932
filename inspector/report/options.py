"""Optional contents of a report."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.replay.assumptions import DAYS_PER_MONTH, RunsPerDay


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Optional contents of a report.

    Attributes:
        runs_per_day: Project savings to this number of runs per day; None for no projection.
        next_calls: Project the session to this number of further calls; None for no projection.
        explain: Explain how every figure is calculated.
        details: Include cost components, cache misses, prompt content and the effect on compactions.
        ledger: Include a row for every call and every block.
        comparison: Also replay every strategy alone.
        texts: Include session texts with secrets masked: the title, and the start of the heaviest results.
        days_per_month: Days per month with such runs.
        best_plan: Try every plan for the one that saves most, as the screen does.
        switch_to: Models to project the main conversation's cost with.
        switch_at: First call on the other model, from 0.
        model_uncertainty: Report savings if the model answers differently from the recording, and widen the bands of
            projected savings accordingly.
        breakpoint_prices: Price every plan under other breakpoint rules even if they hardly matter. JSON only.
        beyond: Recommend plans beyond what has been tried in public, too.
        as_model: Compare the plans at this model's prices too; empty for none.
        skips_failed: Leave out plans with a strategy of another package that fails.
        suggests: The plans were not chosen by the user, so the session's cost comes first.
    """

    runs_per_day: RunsPerDay | None = None
    next_calls: int | None = None
    explain: bool = False
    details: bool = True
    ledger: bool = False
    comparison: bool = False
    texts: bool = False
    days_per_month: float = DAYS_PER_MONTH
    best_plan: bool = False
    switch_to: tuple[str, ...] = ()
    switch_at: int = 0
    model_uncertainty: bool = False
    breakpoint_prices: bool = False
    beyond: bool = False
    as_model: str = ""
    skips_failed: bool = False
    suggests: bool = False
