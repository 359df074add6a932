import pytest

from inspector.session.model import BlockKind, Role
from inspector.strategies.library.micro_x import recorded_summary_tokens
from inspector.strategies.plan import Plan
from inspector.strategies.presets import PRESETS, display_name, part_name, preset_named
from inspector.strategies.registry import STRATEGIES, strategy, strategy_for
from inspector.tokens.counter import estimated_tokens
from tests.replay.synthetic import SessionBuilder


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_plan_that_survives_being_written(name):
    plan = PRESETS[name].plan()
    assert plan.name == name
    assert Plan.from_toml(plan.to_toml()) == plan
    assert all(entry.enabled for entry in plan.entries)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("newest-ten", "newest ten"),
        ("openclaw-2026.9", "openclaw 2026.9"),
        (part_name("newest-ten"), "part of newest ten"),
        # Strategies keep their names, also those of a plan with the same name, and so do the user's plans.
        ("keep-recent", "keep-recent"),
        ("part of trim-at-insertion", "part of trim-at-insertion"),
        ("my-own-plan", "my-own-plan"),
        ("", "clear-old + keep-recent"),
    ],
)
def test_a_built_in_plan_has_a_plain_name_and_others_keep_theirs(name: str, shown: str):
    assert display_name(name, ["clear-old:keep=7", "keep-recent"]) == shown


@pytest.mark.parametrize("name", PRESETS)
def test_a_built_in_plan_is_found_by_both_of_its_names(name: str):
    assert preset_named(name) is preset_named(display_name(name)) is PRESETS[name]


def test_none_changes_nothing():
    assert PRESETS["none"].plan().entries == ()


def test_presets_of_ours_never_send_more_than_was_recorded_and_the_careful_one_waits():
    stale = {name: PRESETS[name].plan().strategies[-1] for name in ("careful", "aggressive")}
    assert all(strategy.never_longer for strategy in stale.values())
    assert stale["careful"].delays_edits


STAND_ALONE = {
    # The founding documents' own, which "careful", "aggressive" and a plan of one's own are made of.
    "dedupe-reads",
    "smart-diff-compression",
    "truncate-after-use",
    # An option that a system offers in addition to its default.
    "anthropic-clear-thinking",
    "closed-windows",
    "remove-regex",
    "deepagents-truncate-arguments",
    "mask-browser-output",
    "recent-events",
    "amortized-forgetting",
    "strands-offload",
    "maf-tool-results",
    "maf-tool-calls",
    "maf-window",
    "maf-truncation",
}


def test_every_strategy_is_in_a_preset_or_known_to_be_alone():
    used = {strategy.name for preset in PRESETS.values() for strategy in preset.plan().strategies}
    assert set(STRATEGIES) - used == STAND_ALONE


def test_presets_are_distinguished_by_what_they_do():
    plans = [preset.plan().strategies for preset in PRESETS.values()]
    assert len(set(plans)) == len(plans)


SUMMARIZING = (
    "summarize",
    "anthropic-compact",
    "langchain-summarization",
    "gemini-compress",
    "openhands-condenser",
    "pi-compaction",
    "cline-compaction",
)


def compacted(*summaries: int):
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    for length in summaries:
        builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "working"))
        builder.compact(keep=0)
        builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "s" * length), is_summary=True)
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"))
    return builder.session()


@pytest.mark.parametrize("name", SUMMARIZING)
def test_summaries_are_taken_to_be_as_long_as_those_the_session_s_own_compactions_left(name):
    assert strategy_for(name, compacted()).summary_tokens == strategy(name).summary_tokens == 1_500
    assert strategy_for(name, compacted(4_000, 12_000, 80_000)).summary_tokens == estimated_tokens(12_000)
    assert strategy_for(name, compacted(4)).summary_tokens == 50
    assert strategy_for(name, compacted(4_000_000)).summary_tokens == 50_000


def test_a_plan_on_the_command_line_takes_recorded_summaries_unless_it_names_a_length():
    session = compacted(12_000)

    assert Plan.from_specs(["summarize"], session=session).strategies[0].summary_tokens == estimated_tokens(12_000)
    assert Plan.from_specs(["summarize:summary-tokens=70"], session=session).strategies[0].summary_tokens == 70
    assert PRESETS["pi"].plan(session).strategies[-1].summary_tokens == estimated_tokens(12_000)


def test_a_compaction_that_only_cleared_results_says_nothing_of_summaries():
    builder = SessionBuilder()
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "go"))
    builder.clear("c1")
    builder.add(Role.USER, builder.block(BlockKind.USER_TEXT, "s" * 9_000))
    builder.respond(builder.block(BlockKind.ASSISTANT_TEXT, "done"))

    assert recorded_summary_tokens(builder.session()) is None


@pytest.mark.parametrize("name", SUMMARIZING)
def test_every_preset_that_summarizes_fits_its_session(name):
    presets = [preset for preset in PRESETS.values() if any(spec.partition(":")[0] == name for spec in preset.specs)]
    assert presets
    assert all(preset.fits_session for preset in presets)
