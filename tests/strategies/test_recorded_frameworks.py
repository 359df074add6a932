"""Outputs of frameworks for agents, reproduced through the public interface.

As in `test_recorded_outputs`, every expectation is the output of the system.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from inspector.replay.message_lists import apply_once
from inspector.strategies.library.maf import (
    call_characters,
    message_tokens,
    result_characters,
    text_characters,
)
from tests.strategies.conversations import content, matches
from tests.strategies.plain_lists import anthropic_list, openai_list, results_in, single_result
from tests.strategies.recorded import FORMS, Entry, Vector, plan_of, replayed


def event_log(letters: str) -> list[Entry]:
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
            # Where the program sends its first events twice, they are sent once here.
            twice = [entry["content"] for entry in log[: max(expected["n"] - len(log), 0)]]
            assert [*twice, *sent] == expected["events"]
            assert len(twice) + len(sent) == expected["n"]

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
    values["empty_messages"] = params.pop("emptyMessages", "remove")
    assert not params
    # Anthropic's form has no empty messages.
    for form in FORMS if values["empty_messages"] == "remove" else (openai_list,):
        sent = [vercel_message(entry) for entry in replayed(form(vector["input"]), plan_of("vercel-prune", **values))]
        assert sent == vector["expected"]["messages"]


def vercel_message(message: Entry) -> Entry:
    if message["role"] == "tool":
        identifier = message.get("tool_call_id")
        return {"role": "tool", "parts": [["tool-result", identifier]] if identifier else []}
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


SYSTEMS: dict[str, Callable[[Vector], None]] = {
    "openhands-v0.ObservationMaskingCondenser": openhands_events("mask-observations", attention_window="window"),
    "openhands-v0.RecentEventsCondenser": openhands_events("recent-events"),
    "openhands-v0.AmortizedForgettingCondenser": openhands_events("amortized-forgetting"),
    "openhands-v0.BrowserOutputCondenser": openhands_events("mask-browser-output", attention_window="window"),
    "openhands.LLMSummarizingCondenser": openhands_condenser,
    "strands.SlidingWindow": strands_window,
    "strands.build_preview": strands_preview,
    "adk.ContextFilterPlugin": adk_filter,
    "vercel-ai.pruneMessages": vercel_prune,
    "maf.ToolResultCompactionStrategy": agent_framework("maf-tool-results"),
    "maf.SelectiveToolCallCompactionStrategy": agent_framework("maf-tool-calls"),
    "maf.SlidingWindowStrategy": agent_framework("maf-window"),
    "maf.TruncationStrategy": agent_framework("maf-truncation"),
    "maf.ContextWindowCompactionStrategy": agent_framework("maf-context-window"),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_system_s_outputs_are_reproduced(system: str, vectors: dict[str, list[Vector]]) -> None:
    if system not in vectors:
        pytest.skip("no outputs of it in the reference material")
    for vector in vectors[system]:
        SYSTEMS[system](vector)
