"""Haystack's pruning of tool results: outputs of the program, and hand-worked figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.library.haystack import PLACEHOLDER
from tests.strategies.conversations import content
from tests.strategies.plain_lists import openai_list, results_in
from tests.strategies.recorded import plan_of

OUTPUTS = json.loads((Path(__file__).parent / "haystack_prune.json").read_text(encoding="utf-8"))
"""Outputs of `CompactionHook` with `ToolResultPruningCompactor` (haystack-ai 3.4.1), without reported usage."""

NAMES = {
    "context_window": "window",
    "compact_at": "compact_at",
    "compact_to": "compact_to",
    "min_keep_steps": "keep_steps",
    "min_tokens": "minimum",
    "placeholder": "placeholder",
}


@pytest.mark.parametrize("output", OUTPUTS, ids=range(len(OUTPUTS)))
def test_the_programs_outputs_are_reproduced(output: dict[str, Any]) -> None:
    plan = plan_of("haystack-prune", **{NAMES[name]: value for name, value in output["params"].items()})
    sent = apply_once(openai_list(output["entries"]), plan)
    for at, (entry, message) in enumerate(zip(output["entries"], sent, strict=True)):
        assert message["content"] == output["changed"].get(str(at), content(entry["content"])), at


def test_most_of_the_outputs_prune_something() -> None:
    assert sum(bool(output["changed"]) for output in OUTPUTS) == 30


def steps(*lengths: int) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for at, length in enumerate(lengths):
        call = {"id": f"c{at}", "name": "ls", "args": {}}
        entries.append({"role": "assistant", "content": "", "calls": [call]})
        entries.append({"role": "tool", "id": f"c{at}", "name": "ls", "content": "x" * length})
    return openai_list(entries)


GONE = PLACEHOLDER.replace("{tool_name}", "ls")


def test_results_are_pruned_oldest_first_until_the_target() -> None:
    """Rendered: `[user] go` 9, `[assistant -> tool_call] ls({})` 31, `[tool:ls] ` 10 and the text, joined by 6 breaks.

    9 + 3 x (31 + 10 + 3,990) + 6 = 12,108 characters are 3,027 tokens, at least 0.7 of 4,000. The target is 1,600. A
    result has 4,000 characters, 1,000 tokens; the placeholder has 10 + 73 = 83, 20 tokens, so pruning one saves 980:
    3,027, 2,047, 1,067. The newest step keeps its result anyway.
    """
    assert len(GONE) == 73
    sent = apply_once(steps(3_990, 3_990, 3_990), plan_of("haystack-prune", window=4_000))
    assert results_in(sent) == [GONE, GONE, "x" * 3_990]


def test_pruning_stops_at_the_target() -> None:
    """2,047 tokens are within 0.55 of 4,000, so the second result stays."""
    sent = apply_once(steps(3_990, 3_990, 3_990), plan_of("haystack-prune", window=4_000, compact_to=0.55))
    assert results_in(sent) == [GONE, "x" * 3_990, "x" * 3_990]


def test_nothing_is_pruned_below_the_trigger() -> None:
    """3,027 tokens are less than 0.7 of 4,325 (3,027.5), and more than 0.7 of 4,324 (3,026.8)."""
    given = steps(3_990, 3_990, 3_990)
    assert apply_once(given, plan_of("haystack-prune", window=4_325)) == given
    assert results_in(apply_once(given, plan_of("haystack-prune", window=4_324))) != results_in(given)


def test_small_results_stay() -> None:
    """A result of 790 characters and its label are 800, 200 tokens: not more than the minimum."""
    sent = apply_once(steps(790, 794, 9_000), plan_of("haystack-prune", window=2_000))
    assert results_in(sent) == ["x" * 790, GONE, "x" * 9_000]


def test_a_placeholder_that_is_no_shorter_is_not_used() -> None:
    plan = plan_of("haystack-prune", window=300, minimum=0)
    given = steps(73, 73, 2_000)
    assert results_in(apply_once(given, plan)) == results_in(given)


def test_excluded_tools_are_left_alone() -> None:
    given = steps(3_990, 3_990, 3_990)
    plan = plan_of("haystack-prune", window=4_000, exclude_tools=("ls",))
    assert apply_once(given, plan) == given


def test_the_providers_count_of_the_last_request_replaces_the_estimate() -> None:
    """The messages are estimated at 3,026 tokens, the provider reported far more for its prompt."""
    given = steps(3_990, 3_990, 3_990)
    plan = plan_of("haystack-prune", window=100_000)
    assert apply_once(given, plan) == given
    assert results_in(apply_once(given, plan, input_tokens=90_000)) == [GONE, GONE, "x" * 3_990]


def test_pruned_results_stay_pruned_while_the_conversation_grows() -> None:
    plan = plan_of("haystack-prune", window=3_000)
    pruned = [results_in(compact(steps(*[3_990] * count), plan)).count(GONE) for count in range(1, 9)]
    assert pruned == sorted(pruned)
    assert pruned[0] == 0
    assert pruned[-1] > 0
