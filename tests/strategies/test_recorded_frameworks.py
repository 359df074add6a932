"""Outputs of more real systems, reproduced through the public interface: frameworks, and agents that prune by age.

As in `test_recorded_outputs`, nothing about an expectation comes from here: it is what the system itself returned.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from inspector.replay.apply import apply_once
from inspector.replay.compact import compact
from inspector.strategies.history import History
from inspector.strategies.maf_groups import call_characters, message_tokens, result_characters, text_characters
from inspector.strategies.pi_compaction import pi_tokens
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.strategies.conversations import ObviousMoment, content, matches, session_of
from tests.strategies.plain_lists import anthropic_list, openai_list, results_in, single_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Vector = dict[str, Any]
Entry = dict[str, Any]
FORMS = (openai_list, anthropic_list)


def plan_of(name: str, **values: Any) -> Plan:
    return Plan.of(strategy(name, **values))


def replayed(given: Sequence[Entry], plan: Plan) -> list[Entry]:
    """What is sent next; replaying every call and applying the plan once to the list come to the same."""
    sent = compact(given, plan)
    assert apply_once(given, plan) == sent
    return sent


def assert_changed(vector: Vector, sent: Sequence[Entry]) -> None:
    """Exactly the results the vector names changed, each to what it says."""
    positions = [at for at, entry in enumerate(vector["input"]) if entry["role"] == "tool"]
    expected = {int(at): text for at, text in vector["expected"]["changed"].items()}
    assert expected.keys() <= set(positions)
    for at, text in zip(positions, results_in(sent), strict=True):
        assert matches(text, expected.get(at, content(vector["input"][at]["content"]))), at


def sweagent_last_observations(vector: Vector) -> None:
    params = dict(vector["params"])
    entries = [dict(entry) for entry in vector["input"]]
    # The program's tags mark single messages; here tools are named, so a marked message gets a tool of its own.
    for at, tags in params.pop("tags", {}).items():
        entries[int(at)]["name"] = tags[0]
    plan = plan_of(
        "last-observations",
        keep=params["n"],
        polling=params.get("polling", 1),
        keep_tools=("keep_output",),
        remove_tools=("remove_output",),
    )
    assert_changed(vector, replayed(openai_list(entries), plan))


def event_log(letters: str) -> list[Entry]:
    """An event log as messages: m a message, o a command's output, b what the browser showed."""
    entries: list[Entry] = []
    for at, letter in enumerate(letters):
        if letter == "m":
            entries.append({"role": "user", "content": f"m{at}"})
        else:
            tool = "browser" if letter == "b" else "execute_bash"
            entries.append({"role": "tool", "id": f"t{at}", "name": tool, "content": f"out{at}" * 20})
    return openai_list(entries)


def openhands_events(name: str, **names: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        values = {names.get(name, name): value for name, value in vector["params"].items()}
        log = event_log(vector["input"]["events"])
        sent = [entry["content"] for entry in replayed(log, plan_of(name, **values))]
        expected = vector["expected"]
        if "forgotten" in expected:
            start, end = expected["forgotten"]
            assert sent == [entry["content"] for entry in log[:start] + log[end + 1 :]]
        else:
            assert sent == expected["events"]
            assert len(sent) == expected["n"]

    return check


def openhands_condenser(vector: Vector) -> None:
    count, expected = int(vector["input"]["events"].split()[0]), vector["expected"]
    assert expected["n_events"] == count
    messages = [{"role": "user", "content": f"m{at}"} for at in range(count)]
    sent = replayed(messages, plan_of("openhands-condenser", **vector["params"]))
    if not expected["reasons"]:
        assert sent == messages
        return
    start, stop = expected["forgotten_range"]
    assert (stop - start, start) == (expected["n_forgotten"], expected["summary_offset"])
    assert sent[:start] + sent[start + 1 :] == messages[:start] + messages[stop:]
    assert sent[start]["role"] == "user"
    assert sent[start] not in messages


HASH = re.compile(r"hash=[0-9a-f]{24}\]$")


def headroom_reads(vector: Vector) -> None:
    params = vector["params"]
    superseded = params.get("compress_superseded", False)
    plan = plan_of("headroom-stale-reads", superseded=superseded, frozen_messages=params["frozen_message_count"])
    given = openai_list(vector["input"])
    sent = replayed(given, plan)
    # The recorded markers have a placeholder for the hash of what they stand for.
    for old, new in zip(given, sent, strict=True):
        if new["content"] != old["content"]:
            assert new["content"].endswith(f"hash={hashlib.sha256(old['content'].encode()).hexdigest()[:24]}]")
    assert_changed(vector, [{**entry, "content": HASH.sub("hash=<HASH>]", entry["content"])} for entry in sent])


def cozempic(name: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        assert vector["params"] == {}
        for form in FORMS:
            assert_changed(vector, replayed(form(vector["input"]), plan_of(name)))

    return check


def pi_truncate(tool: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        params, expected = vector["params"], vector["expected"]
        limits = {"max_lines": expected["maxLines"], "max_bytes": expected["maxBytes"]}
        assert set(params.values()) <= set(limits.values())
        text = content(vector["input"]["content"])
        for form in FORMS:
            given = form(single_result(text, tool=tool))
            (sent,) = results_in(replayed(given, plan_of("pi-truncate", notes=False, **limits)))
            assert matches(sent, expected["content"])
            assert (sent != text) == expected["truncated"]
            assert len(sent.encode()) == expected["outputBytes"]
            (noted,) = results_in(replayed(given, plan_of("pi-truncate", **limits)))
            assert noted.startswith(sent)

    return check


def pi_cut_point(vector: Vector) -> None:
    expected, entries = vector["expected"], vector["input"]
    given = openai_list(entries)
    history = History.of(session_of(entries))
    moment = ObviousMoment(history, history.call_count, history.prompt(0), True, 0, {})
    messages = [history.blocks_of(history.prompt_messages(history.call_count)[at : at + 1]) for at in range(len(given))]
    assert [pi_tokens(moment, blocks.tolist()) for blocks in messages] == expected["tokens"]
    plan = plan_of("pi-compaction", keep=vector["params"]["keepRecentTokens"])
    sent = apply_once(given, plan, input_tokens=200_000, window=200_000)
    kept_from = expected["firstKeptEntryIndex"]
    if not kept_from:
        assert sent == given
        return
    assert sent[1:] == given[kept_from:]
    assert sent[0]["role"] == "user"
    assert sent[0]["content"].startswith("The conversation history before this point was compacted into the following")
    assert (given[kept_from]["role"] != "user") == expected["isSplitTurn"]


def pi_should_compact(vector: Vector) -> None:
    params, given = vector["params"], vector["input"]
    plan = plan_of("pi-compaction", reserve=params["reserveTokens"], keep=params["keepRecentTokens"])
    plan = plan if params["enabled"] else plan.toggled(0)
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": chr(97 + at) * 20_000} for at in range(10)]
    sent = apply_once(messages, plan, input_tokens=given["contextTokens"], window=given["contextWindow"])
    assert (sent != messages) == vector["expected"]["should"]


def openclaw_prune(vector: Vector) -> None:
    names = {"keepLastAssistants": "keep_assistants", "softTrimRatio": "soft_ratio", "hardClearRatio": "hard_ratio"}
    params, expected = dict(vector["params"]), vector["expected"]
    window = params.pop("context_window_tokens")
    plan = plan_of("openclaw-prune", **{names[name]: value for name, value in params.items()})
    given = openai_list(vector["input"])
    sent = apply_once(given, plan, window=window, clock=300)
    assert_changed(vector, sent)
    assert [openclaw_characters(messages) for messages in (given, sent)] == [
        expected["chars_before"],
        expected["chars_after"],
    ]
    assert apply_once(given, plan, window=window, clock=299) == given


def openclaw_characters(messages: Sequence[Entry]) -> int:
    calls = [call for entry in messages for call in entry.get("tool_calls", ())]
    arguments = [json.dumps(json.loads(call["function"]["arguments"]), separators=(",", ":")) for call in calls]
    return sum(map(len, [*(entry["content"] for entry in messages), *arguments]))


def hermes_persist(vector: Vector) -> None:
    given, params = vector["input"], vector["params"]
    # A threshold that is given outright holds for every tool; the tools' own leave reading unlimited.
    exempt = ("read_file",) if params["threshold"] is None else ()
    plan = plan_of(
        "store-large",
        limit=params["threshold"] or params["default_result_size"],
        preview=params["preview_size"],
        batch_budget=10_000_000,
        exempt_tools=exempt,
        **({} if params["env"] else {"folder": ""}),
    )
    text = content(given["content"])
    for form in FORMS:
        (sent,) = results_in(replayed(form(single_result(text, tool=given["tool"], identifier=given["id"])), plan))
        assert matches(sent, vector["expected"]["result"])
        assert (sent != text) == vector["expected"]["replaced"]


def hermes_turn_budget(vector: Vector) -> None:
    sizes = vector["input"]["batch_sizes"]
    calls = [{"id": f"b{at}", "name": "terminal", "args": {}} for at in range(len(sizes))]
    entries: list[Entry] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "calls": calls}]
    entries += [{"role": "tool", "id": f"b{at}", "content": "x" * size} for at, size in enumerate(sizes)]
    plan = plan_of("store-large", batch_budget=vector["params"]["turn_budget"])
    for form in FORMS:
        lengths = [len(text) for text in results_in(replayed(form(entries), plan))]
        assert lengths == vector["expected"]["final_lens"]
        assert sum(lengths) == vector["expected"]["total"]


def hermes_budgets(vector: Vector) -> None:
    result, batch = vector["expected"]["per_result"], vector["expected"]["per_turn"]
    plan = plan_of("store-large", window=vector["input"]["context_length"] or 0)
    for size, stored in ((result, False), (result + 1, True)):
        (sent,) = results_in(replayed(openai_list(single_result("x" * size)), plan))
        assert (sent != "x" * size) == stored
    for more, stored in ((0, False), (1, True)):
        sizes = [batch // 4] * 3 + [batch - batch // 4 * 3 + more]
        calls = [{"id": f"b{at}", "name": "terminal", "args": {}} for at in range(4)]
        entries: list[Entry] = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "calls": calls}]
        entries += [{"role": "tool", "id": f"b{at}", "content": "x" * size} for at, size in enumerate(sizes)]
        assert (results_in(replayed(openai_list(entries), plan)) != ["x" * size for size in sizes]) == stored


def hermes_prune(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    plan = plan_of(
        "hermes-prepass",
        protect_last=params["protect_tail_count"],
        tail_tokens=params.get("protect_tail_tokens", 0),
        tail=0.0,
    )
    given = openai_list(vector["input"])
    sent = apply_once(given, plan, input_tokens=150_000, window=200_000)
    assert_changed(vector, sent)
    assert len(expected["changed"]) == expected["pruned"]
    for at, (before, after) in enumerate(zip(given, sent, strict=True)):
        arguments = [call["function"]["arguments"] for call in after.get("tool_calls", ())]
        if str(at) in expected["changed_args_head80"]:
            heads = [text.removesuffix("…") for text in expected["changed_args_head80"][str(at)]]
            assert [text[: len(head)] for text, head in zip(arguments, heads, strict=True)] == heads
            assert [len(text) for text in arguments] == expected["args_len"][str(at)]
            assert all(json.loads(text) for text in arguments)
        else:
            assert before.get("tool_calls") == after.get("tool_calls")
    assert apply_once(given, plan, input_tokens=149_999, window=200_000) == given


def hermes_line(vector: Vector) -> None:
    tool, text = vector["input"]["tool"], content(vector["input"]["content"])
    entries = single_result(text, tool=tool)
    entries[1]["calls"][0]["args"] = vector["input"]["args"]
    plan = plan_of("hermes-prepass", protect_last=0, tail=0.0, minimum=0)
    for form in FORMS:
        (sent,) = results_in(apply_once(form(entries), plan, input_tokens=150_000, window=200_000))
        assert sent == vector["expected"]["summary"]


def strands_window(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    given = anthropic_list(vector["input"])
    assert len(given) == expected["n_in"]
    sent: list[Entry] = given
    for _ in range(params["calls"]):
        # An overflow by a single token, so that one reduction is enough.
        told = {"input_tokens": 1_001, "window": 1_000} if params["overflow"] else {"window": 10_000_000}
        per_turn = 0 if params["overflow"] else 1
        sent = apply_once(sent, plan_of("strands-window", window_size=params["window_size"], per_turn=per_turn), **told)
    assert len(sent) == expected["n_out"] == expected["n_in"] - expected["removed"]
    if expected["error"]:
        assert sent == given
    for message, (role, parts) in zip(sent, expected["messages"], strict=True):
        assert message["role"] == role
        found = message["content"]
        found = [{"type": "text", "text": found}] if isinstance(found, str) else found
        for part, (kind, value, *text) in zip(found, parts, strict=True):
            assert part["type"] == {"text": "text", "use": "tool_use", "res": "tool_result"}[kind]
            assert value == (part.get("text") or part.get("id") or part.get("tool_use_id"))
            assert not text or matches(part["content"], text[0])


def strands_preview(vector: Vector) -> None:
    params, text = dict(vector["params"]), content(vector["input"]["content"])
    if "preview" in params:
        params["preview"] = params["preview"].replace("_", "-")
    for form in FORMS:
        (sent,) = results_in(replayed(form(single_result(text)), plan_of("strands-offload", threshold=0, **params)))
        assert matches(sent, vector["expected"]["result"])


def adk_filter(vector: Vector) -> None:
    params, expected = vector["params"], vector["expected"]
    values = {"keep": params["num_invocations_to_keep"]}
    if "remove_amount" in params:
        values["remove_amount"] = params["remove_amount"]
    given = openai_list(vector["input"])
    sent = replayed(given, plan_of("adk-filter", **values))
    assert sent == given[expected["kept_from_index"] :]
    assert len(sent) == expected["n_out"]


def vercel_prune(vector: Vector) -> None:
    values: dict[str, Any] = {"reasoning": "none", "tool_calls": "none"}
    params = dict(vector["params"])
    values["reasoning"] = params.pop("reasoning", "none")
    rule = params.pop("toolCalls", "none")
    if isinstance(rule, list):
        (rule,) = rule or [{"type": "none"}]
        values["tools"] = tuple(rule.get("tools", ()))
        rule = rule["type"]
    if some := re.fullmatch(r"before-last-(\d+)-messages", rule):
        rule, values["messages"] = "before-last-messages", int(some.group(1))
    values["tool_calls"] = rule
    assert params.pop("emptyMessages", "remove") == "remove"
    assert not params
    for form in FORMS:
        sent = [vercel_message(entry) for entry in replayed(form(vector["input"]), plan_of("vercel-prune", **values))]
        assert sent == vector["expected"]["messages"]


def vercel_message(message: Entry) -> Entry:
    """A message of either form as the vectors write what the Vercel AI SDK made of it."""
    if message["role"] == "tool":
        return {"role": "tool", "parts": [["tool-result", message["tool_call_id"]]]}
    found = message["content"]
    if message["role"] == "user" and isinstance(found, str):
        return {"role": "user", "content": found}
    if isinstance(found, str):
        parts = [["reasoning", message["reasoning_content"]]] if message.get("reasoning_content") else []
        parts += [["text", found]] if found else []
        parts += [["tool-call", call["id"]] for call in message.get("tool_calls", ())]
        return {"role": "assistant", "parts": parts}
    names = {"thinking": ("reasoning", "thinking"), "text": ("text", "text"), "tool_use": ("tool-call", "id")}
    names["tool_result"] = ("tool-result", "tool_use_id")
    parts = [[names[part["type"]][0], part[names[part["type"]][1]]] for part in found]
    return {"role": "tool" if message["role"] == "user" else "assistant", "parts": parts}


MAF: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "maf-tool-results": lambda params: {"keep": params["keep_last_tool_call_groups"]},
    "maf-tool-calls": lambda params: {"keep": params["keep_last_tool_call_groups"]},
    "maf-window": lambda params: {"keep": params["keep_last_groups"]},
    "maf-truncation": lambda params: {
        "unit": "tokens" if params.get("tokenizer") else "messages",
        "limit": params["max_n"],
        "target": params["compact_to"],
        "keep_first_user": params.get("preserve_first_user_group", False),
    },
    "maf-context-window": lambda params: {
        "window": params["window"],
        "max_output": params["out"],
        "evict": params["evict"],
        "truncate": params["trunc"],
        "keep": params["keep"],
    },
}


def agent_framework(name: str) -> Callable[[Vector], None]:
    def check(vector: Vector) -> None:
        expected = vector["expected"]
        given = [{"id": f"m{at}", **entry} for at, entry in enumerate(openai_list(vector["input"]))]
        sent = apply_once(given, plan_of(name, **MAF[name](vector["params"])))
        assert (sent != given) == expected["changed"]
        named: list[Entry] = []
        for message, (identifier, text) in zip(sent, expected["included"], strict=True):
            if text is None:
                assert message["id"] == identifier
            else:
                assert message["role"] == "assistant"
                assert matches(message["content"], text)
            named.append({**message, "id": identifier})
        assert [sum(map(maf_tokens, messages)) for messages in (given, named)] == [
            expected["tokens_before"],
            expected["tokens_after"],
        ]

    return check


def maf_tokens(message: Entry) -> int:
    def quoted(text: str) -> int:
        return len(json.dumps(text, ensure_ascii=False))

    if message["role"] == "tool":
        contents = [result_characters(message["tool_call_id"], quoted(message["content"]))]
    else:
        contents = [text_characters(quoted(message["content"]))] if message["content"] else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        contents.append(call_characters(call["id"], function["name"], len(function["arguments"])))
    return message_tokens(message["id"], message["role"], contents)


SYSTEMS: dict[str, Callable[[Vector], None]] = {
    "sweagent.LastNObservations": sweagent_last_observations,
    "openhands-v0.ObservationMaskingCondenser": openhands_events("mask-observations", attention_window="window"),
    "openhands-v0.RecentEventsCondenser": openhands_events("recent-events"),
    "openhands-v0.AmortizedForgettingCondenser": openhands_events("amortized-forgetting"),
    "openhands.LLMSummarizingCondenser": openhands_condenser,
    "headroom.read_lifecycle": headroom_reads,
    "cozempic.tool-output-trim": cozempic("cozempic-trim"),
    "cozempic.tool-result-age": cozempic("cozempic-age"),
    "cozempic.stale-reads": cozempic("cozempic-stale-reads"),
    "pi.truncateHead": pi_truncate("read"),
    "pi.truncateTail": pi_truncate("bash"),
    "pi.findCutPoint": pi_cut_point,
    "pi.shouldCompact": pi_should_compact,
    "openclaw.context_pruning": openclaw_prune,
    "strands.SlidingWindow": strands_window,
    "strands.build_preview": strands_preview,
    "adk.ContextFilterPlugin": adk_filter,
    "vercel-ai.pruneMessages": vercel_prune,
    "maf.ToolResultCompactionStrategy": agent_framework("maf-tool-results"),
    "maf.SelectiveToolCallCompactionStrategy": agent_framework("maf-tool-calls"),
    "maf.SlidingWindowStrategy": agent_framework("maf-window"),
    "maf.TruncationStrategy": agent_framework("maf-truncation"),
    "maf.ContextWindowCompactionStrategy": agent_framework("maf-context-window"),
    "hermes.persist": hermes_persist,
    "hermes.enforce_turn_budget": hermes_turn_budget,
    "hermes.budget_for_context_window": hermes_budgets,
    "hermes.prune_old_tool_results": hermes_prune,
    "hermes.summarize_tool_result": hermes_line,
}
"""How each system's outputs are reproduced."""

NOT_APPLICABLE = {
    "hermes.cache_breakpoints": "where Hermes puts marks for the provider's cache; no text is changed",
}
"""Outputs nothing here stands for, and what they are of."""


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_system_s_outputs_are_reproduced(system: str, vectors: dict[str, list[Vector]]) -> None:
    for vector in vectors.get(system, ()):
        SYSTEMS[system](vector)
