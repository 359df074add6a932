import pytest

from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_plan_that_survives_being_written(name):
    plan = PRESETS[name].plan()
    assert plan.name == name
    assert Plan.from_toml(plan.to_toml()) == plan
    assert all(entry.enabled for entry in plan.entries)


def test_none_changes_nothing():
    assert PRESETS["none"].plan().entries == ()


def test_presets_of_ours_never_send_more_than_was_recorded_and_the_careful_one_waits():
    stale = {name: PRESETS[name].plan().strategies[-1] for name in ("careful", "aggressive")}
    assert all(strategy.never_longer for strategy in stale.values())
    assert stale["careful"].holds_back


STAND_ALONE = {
    # The founding documents' own, which "careful", "aggressive" and a plan of one's own are made of.
    "dedupe-reads",
    "truncate-after-use",
    # A choice a system offers beside its default.
    "anthropic-clear-thinking",
    "closed-windows",
    "mask-browser-output",
    "recent-events",
    "amortized-forgetting",
    "strands-offload",
    "maf-tool-results",
    "maf-tool-calls",
    "maf-window",
    "maf-truncation",
}


def test_every_strategy_is_in_a_preset_or_known_to_stand_alone():
    used = {strategy.name for preset in PRESETS.values() for strategy in preset.plan().strategies}
    assert set(STRATEGIES) - used == STAND_ALONE


def test_presets_are_told_apart_by_what_they_do():
    plans = [preset.plan().strategies for preset in PRESETS.values()]
    assert len(set(plans)) == len(plans)
