import pytest

from inspector.strategies.plan import Plan, Trigger
from inspector.strategies.registry import STRATEGIES


def sizes(spec: str, window: int | None = 200_000) -> list[int]:
    return [trigger.tokens for trigger in Plan.from_specs([spec]).triggers(window)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("token-budget:budget=60000", [60_000]),
        ("token-budget:budget=0", []),
        ("summarize:threshold=70000", [70_000]),
        ("anthropic-clear-tool-uses:trigger=90000", [90_000]),
        ("anthropic-clear-tool-uses:trigger-type=tool-uses,trigger=9", []),
        ("langchain-summarization:trigger-tokens=50000,trigger-fraction=0.5", [50_000, 100_000]),
        ("pi-compaction", [200_000 - 16_384]),
        ("pi-compaction:window=100000", [100_000 - 16_384]),
        ("gemini-compress:threshold=0.25", [50_000]),
        ("openclaw-prune", [60_000, 100_000]),
        ("cline-truncate", [160_000]),
        ("cline-compaction", [200_000 * 0.9 * 0.9]),
        ("roo-truncate:reserved=10000", [170_000]),
        ("openhands-condenser:max-tokens=30000", [30_000]),
        ("hermes-prepass", [150_000]),
        ("tiered-stale", []),
    ],
)
def test_a_strategy_that_waits_for_a_prompt_size_says_which(spec: str, expected: list[int]) -> None:
    assert sizes(spec) == expected


def test_the_usual_window_is_taken_where_the_session_does_not_say() -> None:
    assert sizes("gemini-compress", None) == [100_000]


def test_a_strategy_that_is_switched_off_waits_for_nothing() -> None:
    plan = Plan.from_specs(["token-budget"])

    assert plan.triggers(None) == (Trigger(40_000, 0, "token-budget"),)
    assert plan.toggled(0).triggers(None) == ()


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_has_an_answer(name: str) -> None:
    assert all(trigger.tokens > 0 and trigger.name == name for trigger in Plan.from_specs([name]).triggers(200_000))
