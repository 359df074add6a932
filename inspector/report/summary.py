"""The one place where a report's figures come from: a session replayed under every plan, as a `Report`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import inspector
from inspector.replay.analysis.breakdown import Breakdown
from inspector.replay.analysis.comparison import plans_to_compare
from inspector.replay.analysis.reuse import find_reuse
from inspector.replay.engine.replay import replay
from inspector.replay.explain.plan import overhead_explanation, replay_explanations
from inspector.replay.figure import HowKnown
from inspector.report.caveats import caveats
from inspector.report.detail_facts import block_facts, carried_facts, explanation_facts, price_facts
from inspector.report.document import SCHEMA_VERSION, CalibrationFacts, Report, SessionFacts, TokenFacts
from inspector.report.figure_sets import figure_set
from inspector.report.ledger_facts import ledger_facts
from inspector.report.masking import Masker, excerpt
from inspector.report.numbers import plural
from inspector.report.plan_facts import plan_facts
from inspector.report.private_paths import shown_path
from inspector.report.recorded import recorded_figures
from inspector.report.wanted import Wanted
from inspector.session.model import BlockKind
from inspector.strategies.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import Replay
    from inspector.report.details import CarriedBlockFacts, ExplanationFacts
    from inspector.report.document import PlanFacts

HEAVIEST = 5
"""So many of the tool results that cost most are listed."""


def report_of(
    inputs: ReplayInputs,
    plans: Sequence[Plan] = (),
    wanted: Wanted | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005  nobody looks
) -> Report:
    """Replay a session under an empty plan and every given one, and say what came of it.

    Args:
        inputs: The session, its token counts and prices.
        plans: What to replay it under.
        wanted: What to say beside the totals; every detail, and no projection, where not given.
        progress: Told how many of all strategies are compared.

    Raises:
        DetectorMissingError: Texts are wanted, and what finds secrets in them is not installed.
    """
    wanted = wanted or Wanted()
    masker = Masker() if wanted.texts else None
    baseline = replay(inputs, Plan())
    recorded = recorded_figures(inputs)
    uses = find_reuse(inputs.history) if plans else None
    carried = Breakdown(baseline, baseline) if wanted.details else None
    planned = [replay(inputs, plan) for plan in plans]
    heaviest = [] if carried is None else _heaviest(carried, masker)
    session = _session(inputs, masker)
    return Report(
        schema=SCHEMA_VERSION,
        inspector=inspector.__version__,
        session=session,
        tokens=_tokens(inputs),
        recorded=None if recorded is None else figure_set(recorded),
        baseline=figure_set(baseline.figures),
        plans=[plan_facts(each, baseline, uses, wanted) for each in planned],
        warnings=[*caveats(inputs), *([] if masker is None else [_about_masks(masker)])],
        prices=price_facts(inputs),
        carried=[] if carried is None else [carried_facts(row) for row in carried.by_kind()],
        heaviest=heaviest,
        explain=_explained(baseline) if wanted.explain else None,
        comparison=_comparison(inputs, baseline, progress) if wanted.comparison else [],
        masked=None if masker is None else dict(masker.masked),
        ledger=ledger_facts(baseline, planned) if wanted.ledger else None,
    )


def _comparison(inputs: ReplayInputs, baseline: Replay, progress: Callable[[int, int], None]) -> list[PlanFacts]:
    plans = plans_to_compare(inputs.history.session)
    totals = Wanted(details=False)
    found = []
    for done, plan in enumerate(plans):
        progress(done, len(plans))
        found.append(plan_facts(replay(inputs, plan), baseline, None, totals))
    return found


def _heaviest(carried: Breakdown, masker: Masker | None) -> list[CarriedBlockFacts]:
    history = carried.planned.history
    return [
        block_facts(
            row,
            history.session,
            int(history.message[row.block]),
            "" if masker is None else excerpt(history.session, row.block, masker),
        )
        for row in carried.heaviest(HEAVIEST)
    ]


def _about_masks(masker: Masker) -> str:
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(masker.masked.items()))
    found = f"{plural(masker.masked.total(), 'secret')} masked in it" + (f" ({kinds})" if kinds else "")
    return f"this report holds texts of the session: {found}; a detector does not find everything, so read them first"


def _explained(baseline: Replay) -> dict[str, ExplanationFacts]:
    return explanation_facts({**replay_explanations(baseline), "overhead": overhead_explanation(baseline.inputs)})


def _session(inputs: ReplayInputs, masker: Masker | None) -> SessionFacts:
    session, window = inputs.history.session, inputs.window
    models = list(session.models)
    return SessionFacts(
        path=shown_path(session.path),
        format=session.format,
        id=session.identifier,
        title="" if masker is None else masker(session.title),
        agent=session.agent,
        model=next((call.model for call in reversed(session.calls) if call.model), None),
        models=models,
        messages=len(session.messages),
        blocks=len(session.blocks),
        tool_results=sum(block.kind is BlockKind.TOOL_RESULT for block in session.blocks),
        calls=len(session.calls),
        compactions=len(session.compactions),
        skipped_records=session.skipped_records,
        window=window.size,
        window_source=window.source,
        window_known=None if window.size is None else window.tokens.known.value,
    )


def _tokens(inputs: ReplayInputs) -> TokenFacts:
    fit = inputs.scale.calibration
    calibration = CalibrationFacts(
        ratio=round(fit.ratio, 6),
        overhead=round(fit.overhead, 1),
        residual=None if math.isnan(fit.residual) else round(fit.residual, 6),
        calls=fit.calls,
    )
    calibrated = inputs.scale.known is HowKnown.CALIBRATED
    return TokenFacts(method=inputs.table.counter.name, calibration=calibration if calibrated else None)
