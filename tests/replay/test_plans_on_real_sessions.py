"""Every plan that a comparison tries, on a real session of every format."""

from pathlib import Path

import numpy as np
import pytest

from inspector.errors import SessionError
from inspector.replay.analysis.best_plan import compared, plans_to_compare
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.discovery import sessions_in
from inspector.session.model import Session
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.token_table import TokenTable

FEWEST_CALLS, MOST_BLOCKS = 5, 1_500


@pytest.fixture(scope="module")
def sessions(corpus: Path) -> dict[str, Session]:
    longest: dict[str, Session] = {}
    for found in sessions_in(corpus):
        if found.path.is_file() and found.path.stat().st_size > 4_000_000:
            continue
        try:
            session = open_session(found.path)
        except SessionError:
            continue
        if len(session.calls) < FEWEST_CALLS or len(session.blocks) > MOST_BLOCKS:
            continue
        known = longest.get(session.format)
        if known is None or len(session.blocks) > len(known.blocks):
            longest[session.format] = session
    return longest


@pytest.mark.long
def test_every_plan_runs_on_every_format_and_its_totals_are_those_of_its_calls(sessions: dict[str, Session]) -> None:
    assert len(sessions) >= 8
    for name, session in sessions.items():
        inputs = ReplayInputs.of(History.of(session), TokenTable.estimated(session), pricing=Pricing())
        baseline = replay(inputs, Plan())
        recorded = baseline.figures.prompt_tokens.value
        for plan in plans_to_compare(session):
            planned = replay(inputs, plan)
            found = compared(baseline, planned)
            prompts, case = planned.ledger.prompt_tokens, (name, plan.name)
            assert (prompts >= 0).all(), case
            assert found.figures.prompt_tokens.value == pytest.approx(float(prompts.sum())), case
            assert found.savings.tokens.value == pytest.approx(recorded - float(prompts.sum())), case
            if found.first_firing is None:
                assert np.array_equal(prompts, baseline.ledger.prompt_tokens), case
            else:
                before = slice(0, found.first_firing)
                assert np.array_equal(prompts[before], baseline.ledger.prompt_tokens[before]), case
