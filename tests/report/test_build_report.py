import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.replay.analysis.plan_outcome import break_even_call, savings_of
from inspector.replay.engine.ledger import Figures, Ledger
from inspector.replay.figure import Figure, HowKnown
from inspector.report.build_report import saving


def ledger_costing(costs: list[float]) -> Ledger:
    nothing = np.zeros(len(costs), dtype=np.int64)
    return Ledger(
        prompt_tokens=nothing,
        cache_read=nothing,
        cache_write_5m=nothing,
        cache_write_1h=nothing,
        uncached=nothing,
        output=nothing,
        cost=np.array(costs, dtype=np.float64),
        strategy_cost=np.zeros(len(costs)),
        removed_tokens=nothing,
        first_changed=nothing.astype(np.int32),
        edits=nothing.astype(np.int32),
        is_break=nothing.astype(np.bool_),
    )


def figures(tokens: int, cost: float | None) -> Figures:
    none = Figure(None, HowKnown.EXACT)
    counted = Figure(tokens, HowKnown.ESTIMATED)
    return Figures(none, counted, none, none, none, none, none, none, Figure(cost, HowKnown.ESTIMATED))


CENTS = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=30)


@given(CENTS)
def test_a_plan_pays_off_at_the_first_call_after_which_it_is_never_behind_again(cents: list[tuple[int, int]]):
    before, after = ([cost / 100 for cost in column] for column in zip(*cents, strict=True)) if cents else ([], [])
    found = break_even_call(ledger_costing(before), ledger_costing(after))

    ahead = [sum(a - b for a, b in cents[: call + 1]) > 0 for call in range(len(cents))]
    expected = next((call + 1 for call in range(len(cents)) if all(ahead[call:])), None)
    assert found == expected


def test_without_a_price_nothing_pays_off():
    assert break_even_call(ledger_costing([math.nan, 1]), ledger_costing([math.nan, 0.5])) is None


def test_a_plan_that_costs_more_saves_a_negative_amount():
    found = saving(savings_of(figures(1000, 2.0), figures(1500, 2.5)))

    assert (found.tokens, found.usd, found.percent, found.percent_of) == (-500, -0.5, -25.0, "cost_usd")


def test_without_a_price_the_percentage_is_of_the_prompt_tokens():
    found = saving(savings_of(figures(1000, None), figures(750, None)))

    assert (found.tokens, found.usd, found.percent, found.percent_of) == (250, None, 25.0, "prompt_tokens")


def test_a_saving_is_known_no_better_than_what_it_is_the_difference_of():
    assert saving(savings_of(figures(1000, None), figures(750, None))).known == {
        "tokens": "estimated",
        "percent": "estimated",
    }


def test_a_percentage_of_nothing_is_not_known():
    assert saving(savings_of(figures(0, 0.0), figures(0, 0.0))).percent is None
