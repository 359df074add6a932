"""Where the money of a session went, compared with its costs."""

from pathlib import Path

import numpy as np
import pytest

from inspector.replay.engine.replay import replay_session
from inspector.replay.explain.spending import spending_of
from inspector.replay.explain.totals import cost_part_explanations
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
    rows = sum(row.cost.value or 0 for row in spending.kinds)
    assert np.isclose(rows + (spending.parts["output_usd"].value or 0), spending.total.value)
    costs = [row.cost.value for row in spending.kinds]
    assert costs == sorted(costs, reverse=True)
