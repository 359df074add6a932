"""Many plans on one session, one after another: what a table of them says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.analysis.hazards import hazards_of, kinds_left_out, leaves_out_words
from inspector.replay.analysis.plan_outcome import break_even_call, savings_of
from inspector.replay.engine.replay import replay
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES, strategy_for

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
    """What one plan makes of a session.

    Attributes:
        plan: The plan.
        figures: Totals over all calls.
        savings: What it saves against the session with nothing cut.
        break_even_call: The call, counted from 1, from which on it has cost less in all; None where it never does.
        first_firing: The first call it changes something at, an index; the number of recorded calls where that is the
            next one, not yet made, and None where it changes nothing.
        edits: How often a block's rendition changed, over all calls.
        hazards: What may go wrong with it; that a strategy is never applied is among them.
        leaves_out_words: It removes or replaces what a person or the model said.
        left_out: The kinds of blocks of which it removes or replaces some.
    """

    plan: Plan
    figures: Figures
    savings: Savings
    break_even_call: int | None
    first_firing: int | None
    edits: int
    hazards: tuple[Hazard, ...]
    leaves_out_words: bool = False
    left_out: tuple[BlockKind, ...] = ()


def plans_to_compare(session: Session) -> tuple[Plan, ...]:
    """Every strategy as a plan of its own, with the defaults that fit the session, and the presets that are more."""
    alone = tuple(Plan.of(strategy_for(name, session), name=name) for name in STRATEGIES)
    known = {plan.strategies for plan in alone} | {()}
    presets = (preset.plan(session) for preset in PRESETS.values())
    return (*alone, *(plan for plan in presets if plan.strategies not in known and plan.name not in STRATEGIES))


def compare(inputs: ReplayInputs, plans: Iterable[Plan], baseline: Replay | None = None) -> Iterator[ComparedPlan]:
    """Replay a session under one plan after another; each is given out as soon as it is known.

    Args:
        inputs: The session.
        plans: What to replay it under.
        baseline: The session with nothing cut, where that has been replayed already.
    """
    baseline = baseline or replay(inputs, Plan())
    for plan in plans:
        yield compared(baseline, replay(inputs, plan))


def compared(baseline: Replay, planned: Replay) -> ComparedPlan:
    """What a replay says of its plan, beside the session with nothing cut."""
    return ComparedPlan(
        plan=planned.plan,
        figures=planned.figures,
        savings=savings_of(baseline.figures, planned.figures),
        break_even_call=break_even_call(baseline.ledger, planned.ledger),
        first_firing=first_firing(planned),
        edits=int(planned.ledger.edits.sum()),
        hazards=hazards_of(planned),
        leaves_out_words=leaves_out_words(planned),
        left_out=kinds_left_out(planned),
    )


def first_firing(planned: Replay) -> int | None:
    """The first call a plan changes something at, see `Compared.first_firing`."""
    calls = planned.edits.call[planned.edits.by_plan]
    return int(calls.min()) if len(calls) else None
