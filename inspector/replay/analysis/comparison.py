"""Compare many plans on one session: the rows of the table."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.hazards import drops_text, hazards_of, kinds_left_out
from inspector.replay.analysis.plan_outcome import break_even_call, savings_of
from inspector.replay.engine.replay import replay
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES, FailedPlugInError, strategy_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.replay.analysis.hazards import Hazard
    from inspector.replay.analysis.plan_outcome import Savings
    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.ledger import Figures
    from inspector.replay.engine.replay import Replay
    from inspector.session.model import BlockKind, Session


@dataclass(frozen=True, slots=True)
class ComparedPlan:
    """One plan's results on a session.

    Attributes:
        plan: The plan.
        figures: Totals over all calls.
        savings: Savings compared with the session with nothing cut.
        break_even_call: First call, counted from 1, after which its cumulative cost stays lower; None if there is none.
        first_firing: Index of the first call it changes something at; the number of recorded calls for the next one,
            None if it changes nothing.
        edits: Number of rendition changes over all calls.
        hazards: Its hazards, including a strategy that never applies.
        drops_text: True if it removes or replaces user or assistant text.
        left_out: The kinds of blocks it removes or replaces.
    """

    plan: Plan
    figures: Figures
    savings: Savings
    break_even_call: int | None
    first_firing: int | None
    edits: int
    hazards: tuple[Hazard, ...]
    drops_text: bool = False
    left_out: tuple[BlockKind, ...] = ()


def plans_to_compare(session: Session) -> tuple[Plan, ...]:
    """Return every strategy as a single plan, with defaults for the session, and the presets that combine several."""
    alone = tuple(_alone(session))
    known = {plan.strategies for plan in alone} | {()}
    presets = (preset.plan(session) for preset in PRESETS.values())
    return (*alone, *(plan for plan in presets if plan.strategies not in known and plan.name not in STRATEGIES))


def _alone(session: Session) -> Iterator[Plan]:
    for name in STRATEGIES:
        with suppress(FailedPlugInError):  # listed by `inspector strategies`
            yield Plan.of(strategy_for(name, session), name=name)


def replays_of(inputs: ReplayInputs, plans: Iterable[Plan]) -> Iterator[Replay]:
    """Replay a session under each plan, leaving out those of plug-ins that fail."""
    for plan in plans:
        with suppress(FailedPlugInError):
            yield replay(inputs, plan)


def compare(inputs: ReplayInputs, plans: Iterable[Plan], baseline: Replay | None = None) -> Iterator[ComparedPlan]:
    """Replay a session under each plan and yield each result immediately.

    Args:
        inputs: The session.
        plans: Plans to replay.
        baseline: The session with nothing cut, if already replayed.
    """
    baseline = baseline or replay(inputs, Plan())
    for planned in replays_of(inputs, plans):
        yield compared(baseline, planned)


def compared(baseline: Replay, planned: Replay) -> ComparedPlan:
    """Summarize a replay compared with the session with nothing cut."""
    return ComparedPlan(
        plan=planned.plan,
        figures=planned.figures,
        savings=savings_of(baseline.figures, planned.figures),
        break_even_call=break_even_call(baseline.ledger, planned.ledger),
        first_firing=first_firing(planned),
        edits=int(planned.ledger.edits.sum()),
        hazards=hazards_of(planned),
        drops_text=drops_text(planned),
        left_out=kinds_left_out(planned),
    )


def first_firing(planned: Replay) -> int | None:
    """Return the first call a plan changes something at; see `ComparedPlan.first_firing`."""
    calls = planned.edits.call[planned.edits.by_plan]
    return int(calls.min()) if len(calls) else None
