"""Spending breakdown of a session, compared with its costs."""

from pathlib import Path

import numpy as np
import pytest

from inspector.replay.explain.cost_sheet import largest_part, spending_of
from inspector.replay.explain.explanation import cost_part_explanations
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT

SAMPLES = sorted((ROOT / "sample_sessions").glob("*.json*"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_parts_are_those_of_the_costs_and_add_up_to_the_whole(path: Path) -> None:
    plain = replay_session(open_session(path), Plan(), precise=False)
    spending, explained = spending_of(plain), cost_part_explanations(plain)

    assert {name: part.value for name, part in spending.parts.items()} == {
        name: each.value for name, each in explained.items()
    }
    assert spending.total == plain.figures.cost_usd
    if spending.total.value is None:
        return
    assert np.isclose(sum(part.value or 0 for part in spending.parts.values()), spending.total.value)
    rows = sum(row.usd or 0 for row in spending.kinds)
    assert np.isclose(rows + (spending.parts["output_usd"].value or 0), spending.total.value)
    costs = [row.usd for row in spending.kinds]
    assert costs == sorted(costs, reverse=True)


def test_what_most_was_spent_on_is_the_largest_part_with_what_the_calls_sent() -> None:
    plain = replay_session(open_session(ROOT / "sample_sessions" / "coding-agent.jsonl"), Plan(), precise=False)
    found = largest_part(plain)

    assert found is not None
    assert found.name == "cache_write_usd"
    parts = [each.value for each in cost_part_explanations(plain).values()]
    assert found.share == pytest.approx(max(parts) / sum(parts))
    assert found.total == plain.figures.cost_usd
    assert (found.calls, found.prompt) == (plain.history.call_count, pytest.approx(plain.ledger.prompt_tokens.mean()))


def test_without_a_price_nothing_is_stated_of_what_most_was_spent_on() -> None:
    session = open_session(ROOT / "sample_sessions" / "local-agent.json")

    assert largest_part(replay_session(session, Plan(), precise=False)) is None
