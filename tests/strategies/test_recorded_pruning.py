"""Outputs of agents and tools that prune, reproduced through the public interface.

As in `test_recorded_outputs`, every expectation is the output of the system.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence

import pytest

from inspector.replay.message_lists import apply_once
from inspector.strategies.history.history import History
from inspector.strategies.library.pi import pi_tokens
from tests.strategies.conversations import ObviousMoment, content, matches, session_of
from tests.strategies.plain_lists import openai_list, results_in, single_result
from tests.strategies.recorded import FORMS, Entry, Vector, assert_changed, plan_of, replayed


def sweagent_last_observations(vector: Vector) -> None:
    params = dict(vector["params"])
    entries = [dict(entry) for entry in vector["input"]]
    # The program's tags mark single messages; here tools are named, so a marked message gets a separate tool.
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


HASH = re.compile(r"hash=[0-9a-f]{24}\]$")


def headroom_reads(vector: Vector) -> None:
    params = vector["params"]
    superseded = params.get("compress_superseded", False)
    plan = plan_of("headroom-stale-reads", superseded=superseded, frozen_messages=params["frozen_message_count"])
    given = openai_list(vector["input"])
    sent = replayed(given, plan)
    # The recorded markers have a placeholder for the hash of the replaced text.
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
    context = ObviousMoment(history, history.call_count, history.prompt(0), True, 0, {})
    messages = [history.blocks_of(history.prompt_messages(history.call_count)[at : at + 1]) for at in range(len(given))]
    assert [pi_tokens(context, blocks.tolist()) for blocks in messages] == expected["tokens"]
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


SYSTEMS: dict[str, Callable[[Vector], None]] = {
    "sweagent.LastNObservations": sweagent_last_observations,
    "headroom.read_lifecycle": headroom_reads,
    "cozempic.tool-output-trim": cozempic("cozempic-trim"),
    "cozempic.tool-result-age": cozempic("cozempic-age"),
    "cozempic.stale-reads": cozempic("cozempic-stale-reads"),
    "pi.truncateHead": pi_truncate("read"),
    "pi.truncateTail": pi_truncate("bash"),
    "pi.findCutPoint": pi_cut_point,
    "pi.shouldCompact": pi_should_compact,
    "openclaw.context_pruning": openclaw_prune,
    "hermes.persist": hermes_persist,
    "hermes.enforce_turn_budget": hermes_turn_budget,
    "hermes.budget_for_context_window": hermes_budgets,
    "hermes.prune_old_tool_results": hermes_prune,
    "hermes.summarize_tool_result": hermes_line,
}

NOT_APPLICABLE = {
    "hermes.cache_breakpoints": "where Hermes puts marks for the provider's cache; no text is changed",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_system_s_outputs_are_reproduced(system: str, vectors: dict[str, list[Vector]]) -> None:
    if system not in vectors:
        pytest.skip("no outputs of it in the reference material")
    for vector in vectors[system]:
        SYSTEMS[system](vector)
