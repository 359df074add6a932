"""Outputs of real systems, reproduced through the public interface: strategy and parameters for each system.

Every list is given in both forms the interface takes. Every expectation is the output of the system or, for the
Anthropic API, an example of its documentation.
"""

from collections.abc import Callable
from typing import Any

import pytest

from inspector import apply_once, compact
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.strategies.conversations import content, matches
from tests.strategies.plain_lists import anthropic_list, inputs_in, openai_list, results_in, single_result

Vector = dict[str, Any]
FORMS = (openai_list, anthropic_list)
CLEARED = "[Old tool result content cleared]"


def plan_of(name: str, **values: Any) -> Plan:
    return Plan.of(strategy(name, **values))


def microx_token_budget(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]["changed_by_id"]
    budget, keep = params["InputTokenBudget"], params["ToolResultRetentionChars"]
    plan = plan_of("token-budget", budget=budget, keep=keep, variant="shipped")
    identifiers = [entry["id"] for entry in vector["input"] if entry["role"] == "tool"]
    for form in FORMS:
        given = form(vector["input"])
        sent = given
        for _ in range(params["calls"]):
            sent = apply_once(sent, plan, input_tokens=params["input_tokens"])
        for identifier, before, after in zip(identifiers, results_in(given), results_in(sent), strict=True):
            assert matches(after, expected[identifier]) if identifier in expected else after == before


def anthropic_clear_tool_uses(vector: Vector) -> None:
    params = vector["params"]
    trigger, least, inputs = params["trigger"], params["clear_at_least"], params["clear_tool_inputs"]
    named = tuple(inputs) if isinstance(inputs, list) else ()
    plan = plan_of(
        "anthropic-clear-tool-uses",
        trigger=trigger["value"],
        trigger_type=trigger["type"].replace("_", "-"),
        keep=params["keep"]["value"],
        clear_at_least=least["value"] if least else 0,
        exclude_tools=tuple(params["exclude_tools"]),
        clear_tool_inputs=inputs is True,
        clear_inputs_of=named,
    )
    identifiers = [entry["id"] for entry in vector["input"] if entry["role"] == "tool"]
    for form in FORMS:
        sent = results_in(apply_once(form(vector["input"]), plan, input_tokens=6_215))
        cleared = [identifier for identifier, text in zip(identifiers, sent, strict=True) if text == CLEARED]
        assert cleared == vector["expected"]["cleared_ids"]


def langchain_clear_tool_uses(vector: Vector) -> None:
    params = {name: tuple(value) if isinstance(value, list) else value for name, value in vector["params"].items()}
    plan = plan_of("langchain-clear-tool-uses", **params)
    expected = vector["expected"]
    calls = [call for entry in vector["input"] for call in entry.get("calls", ())]
    for form in FORMS:
        given = form(vector["input"])
        sent = apply_once(given, plan)
        positions = [at for at, entry in enumerate(vector["input"]) if entry["role"] == "tool"]
        for at, before, after in zip(positions, results_in(given), results_in(sent), strict=True):
            assert after == expected["changed"].get(str(at), before)
        wanted = dict(zip((call["id"] for call in calls), (call["args"] for call in calls), strict=True))
        for at, changed in expected.get("changed_args", {}).items():
            for call, arguments in zip(vector["input"][int(at)]["calls"], changed, strict=True):
                wanted[call["id"]] = arguments
        assert inputs_in(sent) == list(wanted.values())
        # Stateless: replaying every call ends at the same list.
        assert compact(given, plan) == sent


def langchain_summarization(vector: Vector) -> None:
    (trigger, limit), (keep, kept) = vector["params"]["trigger"], vector["params"]["keep"]
    values = {"trigger_tokens": 0, f"trigger_{trigger}": limit, f"keep_{keep}": kept}
    given = openai_list(vector["input"])
    sent = apply_once(given, plan_of("langchain-summarization", **values))
    expected = vector["expected"]
    if not expected["should"] or not expected["cutoff_index"]:
        assert sent == given
        return
    assert sent[1:] == given[expected["cutoff_index"] :]
    assert len(sent) == 1 + expected["kept"]
    assert sent[0]["role"] == "user"
    assert sent[0]["content"].startswith("Here is a summary of the conversation to date:\n\n")


def deepagents_evict(vector: Vector) -> None:
    params, given = vector["params"], vector["input"]
    plan = plan_of(
        "deepagents-evict",
        limit=params["tool_token_limit_before_evict"],
        head=params["head_lines"],
        tail=params["tail_lines"],
        exempt_tools=tuple(params["excluded"]),
    )
    text = content(given["content"])
    assert len(text) > vector["expected"]["threshold_chars"] or not vector["expected"]["evicted"]
    for form in FORMS:
        (sent,) = results_in(apply_once(form(single_result(text, tool=given["tool"], identifier=given["id"])), plan))
        assert matches(sent, vector["expected"]["replacement"]) if vector["expected"]["evicted"] else sent == text


def opencode_truncate(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    plan = plan_of(
        "opencode-truncate",
        max_lines=params["maxLines"],
        max_bytes=params["maxBytes"],
        direction=params["direction"],
    )
    text = content(vector["input"]["content"])
    for form in FORMS:
        (sent,) = results_in(apply_once(form(single_result(text)), plan))
        if not expected["truncated"]:
            assert sent == text
            continue
        hint = "The tool call succeeded but the output was truncated. Full output saved to: "
        before, notice, after = sent.partition(expected["notice"])
        assert notice
        assert hint in after
        preview = before.removesuffix("\n\n") if params["direction"] == "head" else after.rpartition("\n\n")[2]
        assert len(preview) == expected["preview_len"]
        assert preview.startswith(expected["preview_head"])
        assert len(preview.encode()) == expected["kept_bytes"]
        assert (preview.count("\n") + 1 if preview else 0) == expected["kept_lines"]


def opencode_prune(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    entries: list[Vector] = []
    for at, message in enumerate(vector["input"]["messages"]):
        parts = message["parts"]
        calls = [{"id": part["id"], "name": part["tool"], "args": {}} for part in parts]
        entries.append({"role": message["role"], "content": f"message {at}", "calls": calls})
        for part in parts:
            text = CLEARED if part.get("compacted") else "x" * part["len"]
            failed = part["status"] != "completed"
            entries.append({"role": "tool", "id": part["id"], "name": part["tool"], "content": text, "error": failed})
    plan = plan_of("opencode-prune", protect=params["PRUNE_PROTECT"], minimum=params["PRUNE_MINIMUM"])
    if not params["enabled"]:
        plan = plan.toggled(0)
    wanted = set(expected["ids"]) if expected.get("applied") else set()
    for form in FORMS:
        given = form(entries)
        sent = results_in(apply_once(given, plan))
        identifiers = [entry["id"] for entry in entries if entry["role"] == "tool"]
        changed = {
            identifier
            for identifier, before, after in zip(identifiers, results_in(given), sent, strict=True)
            if before != after
        }
        assert changed == wanted
        assert all(text == CLEARED for text, name in zip(sent, identifiers, strict=True) if name in changed)


def opencode_dcp(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    tools, now = vector["input"]["tools"], vector["input"]["current_turn"]
    values: dict[str, Any] = {"protected_files": tuple(params.get("patterns", ()))}
    if "protectedTools" in params:
        values["protected_tools"] = tuple(params["protectedTools"])
    plan = Plan.of(
        strategy("dcp-dedupe", **values), strategy("dcp-purge-errors", turns=params["purgeErrors.turns"], **values)
    )
    entries: list[Vector] = [{"role": "user", "content": "task"}]
    for turn in range(1, now + 1):
        made = [tool for tool in tools if tool["turn"] == turn]
        calls = [{"id": tool["id"], "name": tool["tool"], "args": tool["input"]} for tool in made]
        entries.append({"role": "assistant", "content": f"turn {turn}", "calls": calls})
        entries += [
            {"role": "tool", "id": tool["id"], "content": "OUT", "error": tool["status"] == "error"} for tool in made
        ]
        if not made:
            entries.append({"role": "user", "content": "go on"})
    for form in FORMS:
        given = form(entries)
        sent = apply_once(given, plan)
        assert results_in(sent) == [expected["parts"][tool["id"]]["output"] for tool in tools]
        assert inputs_in(sent) == [expected["parts"][tool["id"]]["input"] for tool in tools]
        assert compact(given, plan) == sent


def codex_truncate(announced: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        unit, budget = vector["params"]["policy"]
        plan = plan_of("codex-truncate", budget=budget, unit=unit, allowance=1.0, announced=announced)
        text = content(vector["input"]["content"])
        for form in FORMS:
            (sent,) = results_in(apply_once(form(single_result(text)), plan))
            assert matches(sent, vector["expected"]["result"])

    return check


def gemini_mask(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    plan = plan_of(
        "gemini-mask",
        protect=params["protectionThresholdTokens"],
        minimum=params["minPrunableThresholdTokens"],
        protect_latest=params["protectLatestTurn"],
        file="<PATH>",
    )
    positions = [at for at, entry in enumerate(vector["input"]) if entry["role"] == "tool"]
    masks = dict(zip(expected["masked"], expected["texts"], strict=True))
    assert len(masks) == expected["maskedCount"]
    for form in FORMS:
        given = form(vector["input"])
        sent = apply_once(given, plan)
        for at, before, after in zip(positions, results_in(given), results_in(sent), strict=True):
            assert matches(after, masks[at]) if at in masks else after == before


def gemini_truncate(vector: Vector) -> None:
    params = vector["params"]
    assert (params["head"], params["tail"]) == (0.2, 0.8)
    plan = plan_of("gemini-truncate", limit=params["maxChars"], file="/tmp/out.txt")  # noqa: S108  as recorded
    text = content(vector["input"]["content"])
    for form in FORMS:
        (sent,) = results_in(apply_once(form(single_result(text, tool="run_shell_command")), plan))
        assert matches(sent, vector["expected"]["result"])


def gemini_split(vector: Vector) -> None:
    plan = plan_of("gemini-compress", preserve=round(1 - vector["params"]["fraction"], 6))
    split = vector["expected"]["split_index"]
    given = openai_list([*vector["input"], {"role": "user", "content": "the request"}])
    sent = apply_once(given, plan, input_tokens=1_000_000)
    if not split:
        assert sent == given
        return
    assert [message["role"] for message in sent[:2]] == ["user", "assistant"][:split]
    assert sent[min(split, 2) :] == given[split:]


def alternating(count: int) -> list[Vector]:
    return [{"role": "assistant" if at % 2 else "user", "content": f"message {at}"} for at in range(count)]


def cline_range(vector: Vector) -> None:
    given = vector["input"]
    messages = alternating(given["alternating_messages"])
    first, last = given["currentDeletedRange"] or (2, 1)
    visible = messages[:first] + messages[last + 1 :]
    keep = {"lastTwo": "last-two"}.get(vector["params"]["keep"], vector["params"]["keep"])
    sent = apply_once(visible, plan_of("cline-truncate", keep=keep), input_tokens=10_000_000)
    start, end = vector["expected"]["deleted_range_inclusive"]
    assert start == 2
    assert sent[0] == messages[0]
    assert sent[1]["content"].startswith("[NOTE] Some previous conversation history")
    assert sent[2:] == messages[end + 1 :]


def roo_truncate(vector: Vector) -> None:
    given, expected = vector["input"], vector["expected"]
    messages = alternating(given["n"])
    hidden = given.get("hidden", [])
    visible = [message for at, message in enumerate(messages) if at not in hidden]
    plan = plan_of("roo-truncate", fraction=given["frac"])
    sent = apply_once(visible, plan, input_tokens=10_000_000)
    gone = {*hidden, *expected["hidden"]}
    wanted: list[Any] = []
    for at, message in enumerate([*messages, None]):
        if at == expected["marker_before"]:
            wanted.append({"role": "user", "content": expected["marker"]})
        if message is not None and at not in gone:
            wanted.append(message)
    assert sent == wanted
    assert len(expected["hidden"]) == expected["messagesRemoved"]


SYSTEMS: dict[str, Callable[[Vector], None]] = {
    "microx.token_budget": microx_token_budget,
    "anthropic.clear_tool_uses_20250919": anthropic_clear_tool_uses,
    "langchain.ClearToolUsesEdit": langchain_clear_tool_uses,
    "langchain.SummarizationMiddleware": langchain_summarization,
    "deepagents.evict": deepagents_evict,
    "opencode.truncate": opencode_truncate,
    "opencode.prune": opencode_prune,
    "opencode-dcp": opencode_dcp,
    "codex.truncate_text": codex_truncate("none"),
    "codex.formatted_truncate_text": codex_truncate("all"),
    "gemini.toolOutputMasking": gemini_mask,
    "gemini.formatTruncatedToolOutput": gemini_truncate,
    "gemini.findCompressSplitPoint": gemini_split,
    "cline.getNextTruncationRange": cline_range,
    "roo.truncateConversation": roo_truncate,
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_system_s_outputs_are_reproduced(system: str, vectors: dict[str, list[Vector]]) -> None:
    assert vectors[system]
    for vector in vectors[system]:
        SYSTEMS[system](vector)
