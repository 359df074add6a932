"""What a report is to hold beside the totals."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.replay.projection_terms import DAYS_PER_MONTH, RunsPerDay


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is to hold beside the totals.

    Attributes:
        runs_per_day: Project savings to so many runs like this session a day; None not to.
        next_calls: Project the session to so many calls more; None not to.
        explain: Say how every figure is calculated.
        details: Say what the cost is made of, what the prompt cache missed, what fills the prompts and what would have
            become of compactions.
        ledger: Hold a row for every call and every block.
        comparison: Replay every strategy alone, too.
        texts: Hold what the session says, secrets masked: its title, and how the heaviest results begin.
        days_per_month: On how many days of a month there are such runs.
        best_plan: Try every plan for the one that saves most, as the screen does.
        switch_to: Models to say of what the main conversation would have cost with them.
        switch_at: From which of its calls on, from 0.
        model_uncertainty: Say what plans save if a model answers otherwise than it was recorded, and widen the bands of
            projected savings by that.
        cache_marks: Say what cache control marks would hold, by every rule. Only JSON has it.
        suggests: The plans were not chosen by anybody: what the session cost comes before them.
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
    cache_marks: bool = False
    suggests: bool = False
