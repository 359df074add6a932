import ast
import json
import tomllib

import pytest

from inspector import compact
from inspector.hook.compiled import read_plan
from inspector.report.export import TARGETS, ExportError, answer_for, export_plan
from inspector.strategies.history.tools import DOCUMENT_TIERS
from inspector.strategies.plan import Plan, PlanEntry
from inspector.strategies.presets import PRESETS
from inspector.strategies.registry import STRATEGIES, SYSTEMS, strategy


def plan(*strategies) -> Plan:
    return Plan(tuple(PlanEntry(each) for each in strategies))


@pytest.mark.parametrize("name", TARGETS)
def test_every_system_can_be_written_for_with_every_strategy_it_takes(name):
    target = TARGETS[name]
    for each in target.takes:
        exported = export_plan(plan(strategy(each)), name)
        assert exported.text.endswith("\n")
        assert exported.left_out == ()
        if target.language == "json":
            json.loads(exported.text)
        elif target.language == "python":
            ast.parse(exported.text)
        elif target.language == "toml":
            tomllib.loads(exported.text)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_strategy_is_called_elsewhere_are_its_own_parameters(name):
    kind = STRATEGIES[name]
    if kind.agent_settings is not None:
        names = {parameter.name for parameter in kind.parameters}
        assert {*kind.agent_settings.names, *kind.agent_settings.constants} <= names


def test_a_strategy_has_a_counterpart_where_a_system_has_it():
    assert list(SYSTEMS) == list(TARGETS)
    of_systems = [name for names in SYSTEMS.values() for name in names]
    assert sorted(of_systems) == sorted(name for name, kind in STRATEGIES.items() if kind.agent_settings is not None)


def test_the_tier_dictionary_is_the_document_s():
    exported = export_plan(plan(strategy("tiered-stale", data=350)), "hynous")
    scope: dict = {}
    exec(exported.text, scope)  # noqa: S102  our own text
    limits = {"confirmation": 150, "action": 300, "data": 350, "search": 600}
    assert scope["_STALE_TRUNCATION"] == {
        tool: limits[tier] for tier, tools in DOCUMENT_TIERS.items() for tool in tools if tier in limits
    }
    assert scope["_DEFAULT_STALE_LIMIT"] == 800


def test_the_api_gets_thinking_first_and_only_what_was_set():
    exported = export_plan(
        plan(strategy("anthropic-clear-tool-uses", trigger=50_000), strategy("anthropic-clear-thinking")), "anthropic"
    )
    edits = json.loads(exported.text)["context_management"]["edits"]
    assert [edit["type"] for edit in edits] == ["clear_thinking_20251015", "clear_tool_uses_20250919"]
    assert edits[1] == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 50_000},
        "keep": {"type": "tool_uses", "value": 3},
    }


def test_the_two_settings_of_the_token_budget():
    exported = export_plan(plan(strategy("token-budget", budget=30_000)), "micro-x")
    assert json.loads(exported.text) == {"InputTokenBudget": 30_000, "ToolResultRetentionChars": 500}


def test_what_has_no_counterpart_is_named_and_never_dropped_silently():
    exported = export_plan(
        plan(strategy("token-budget", batch_calls=25), strategy("clear-old"), strategy("token-budget")), "micro-x"
    )
    assert [sentence.split(":")[0] for sentence in exported.left_out] == ["token-budget", "clear-old", "token-budget"]
    assert "batch-calls=25 has no counterpart there" in exported.left_out[0]
    constant = export_plan(plan(strategy("opencode-prune", protect=9_000)), "opencode")
    assert "is a constant there" in constant.left_out[0]


def test_one_condenser_at_a_time():
    exported = export_plan(plan(strategy("recent-events"), strategy("mask-observations")), "openhands")
    assert tomllib.loads(exported.text)["condenser"]["type"] == "recent"
    assert len(exported.left_out) == 1


def test_an_unknown_system_suggests_the_nearest_and_an_empty_result_says_what_is_taken():
    with pytest.raises(ExportError, match="did you mean langchain"):
        export_plan(plan(strategy("tiered-stale")), "langchian")
    with pytest.raises(ExportError, match="it takes codex-truncate"):
        export_plan(plan(strategy("tiered-stale")), "codex")


CONVERSATION = [
    {"role": "user", "content": "What does the log say?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat build.log"}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "line\n" * 20_000}]},
    {"role": "assistant", "content": "The same line, again and again."},
    {"role": "user", "content": "And what follows from that?"},
]


@pytest.mark.parametrize("name", PRESETS)
def test_any_plan_is_written_as_code_that_does_what_the_plan_does(name):
    ready = PRESETS[name].plan()
    exported = export_plan(ready, "python")
    scope = {"messages": CONVERSATION}
    exec(exported.text, scope)  # noqa: S102  our own text

    assert exported.left_out == ()
    assert scope["messages_to_send"] == compact(CONVERSATION, ready)


def test_what_is_switched_off_is_in_no_code():
    off = Plan((PlanEntry(strategy("keep-recent"), enabled=False), PlanEntry(strategy("clear-old"))))
    assert "keep-recent" not in export_plan(off, "python").text


def test_a_hook_is_written_with_the_plan_it_installs_and_what_it_leaves_out(tmp_path):
    mixed = plan(strategy("trim-at-insertion", threshold=4_000), strategy("tiered-stale"))
    exported = export_plan(mixed, "hook")
    held, command = exported.text.removeprefix("cat > plan.toml <<'END'\n").split("END\n")
    (tmp_path / "plan.toml").write_text(held)

    assert read_plan(str(tmp_path / "plan.toml")).strategies == mixed.strategies
    assert command.startswith("inspector hook install --agent claude-code --plan plan.toml")
    assert [each.split(":")[0] for each in exported.left_out] == ["tiered-stale"]


def test_a_plan_that_changes_what_was_seen_is_nothing_for_a_hook():
    with pytest.raises(ExportError, match="cuts results on arrival"):
        export_plan(plan(strategy("tiered-stale")), "hook")


@pytest.mark.parametrize(
    ("agent", "strategies", "said", "names"),
    [
        ("claude-code", ["trim-at-insertion"], "Claude Code can apply it. Through a hook", ("hook",)),
        ("claude-code", ["trim-at-insertion", "tiered-stale"], "Claude Code can apply part of it. Through", ("hook",)),
        ("claude-code", ["tiered-stale"], "Claude Code cannot apply it. Supported: strategies", ("python",)),
        ("hermes", ["trim-at-insertion"], "Hermes can apply it", ("hook", "hermes")),
        ("codex", ["codex-truncate"], "Codex can apply it. Through Codex", ("codex",)),
        ("codex", ["tiered-stale"], "Codex cannot apply it. Supported: codex-truncate. Your own", ("python",)),
        ("pi", ["tiered-stale"], "unknown if this agent can apply it. Your own", ("python",)),
        ("nobodys", ["tiered-stale"], "unknown if this agent can apply it", ("python",)),
    ],
)
def test_whether_the_agent_of_a_session_can_apply_a_plan_is_stated_with_what_to_write(agent, strategies, said, names):
    answer = answer_for(agent, plan(*map(strategy, strategies)))
    assert f"{answer.verdict}. {answer.advice}".startswith(said)
    assert answer.names == names
