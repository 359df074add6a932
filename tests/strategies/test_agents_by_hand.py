"""Strategies of agents held to their programs' loops, written out plainly: over the whole list, again at every call."""

import json

from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.library.cline import allowed_tokens, messages_to_remove
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.examples import examples
from tests.strategies.plain_lists import openai_list, results_in

TOOLS = ("read_file", "bash", "skill", "run_shell_command", "ask_user")
CLEARED = "[Old tool result content cleared]"


@some.composite
def conversations(draw):
    entries = [{"role": "user", "content": "task"}]
    for step in range(draw(some.integers(0, 12))):
        if draw(some.integers(0, 3)) == 0:
            entries += [{"role": "assistant", "content": "done"}, {"role": "user", "content": "and now?"}]
            continue
        calls = [
            {"id": f"c{step}.{at}", "name": draw(some.sampled_from(TOOLS)), "args": {}}
            for at in range(draw(some.integers(1, 3)))
        ]
        entries.append({"role": "assistant", "content": "", "calls": calls})
        for call in calls:
            text = draw(some.sampled_from("ab")) * draw(some.sampled_from((0, 3, 40, 900, 2_000)))
            failed = draw(some.integers(0, 9)) == 0
            entries.append({"role": "tool", "id": call["id"], "name": call["name"], "content": text, "error": failed})
    return entries


def prompts(entries):
    answered = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    return answered if entries[-1]["role"] == "assistant" else [*answered, len(entries)]


@given(conversations(), some.integers(0, 3), some.sampled_from((0, 40)), some.booleans())
@settings(max_examples=examples(25))
def test_langchain_s_clearing_keeps_nothing_in_mind(entries, keep, least, inputs):
    values = {"trigger": 200, "keep": keep, "clear_at_least": least, "clear_tool_inputs": inputs}
    plan = Plan.of(strategy("langchain-clear-tool-uses", **values))
    given_list = openai_list(entries)
    assert compact(given_list, plan) == apply_once(given_list, plan)


def opencode_loop(entries, cleared, protect, minimum):
    """OpenCode's loop over the list at the end of a turn."""
    total = pruned = turns = 0
    marked = []
    for entry in reversed(entries):
        turns += entry["role"] == "user"
        if turns < 2 or entry["role"] != "tool" or entry["error"] or entry["name"] == "skill":
            continue
        if entry["id"] in cleared:
            break
        estimate = int(len(entry["content"]) / 4 + 0.5)
        total += estimate
        if total > protect:
            pruned += estimate
            marked.append(entry["id"])
    return set(marked) if pruned > minimum else set()


@given(conversations(), some.sampled_from((0, 5, 300)), some.sampled_from((0, 5, 230)))
@settings(max_examples=examples(40))
def test_opencode_s_pruning_is_its_loop_at_the_end_of_every_turn(entries, protect, minimum):
    cleared = set()
    for at, entry in enumerate(entries):
        if entry["role"] == "user" and at:
            cleared |= opencode_loop(entries[:at], cleared, protect, minimum)
    plan = Plan.of(strategy("opencode-prune", protect=protect, minimum=minimum))
    results = [entry for entry in entries if entry["role"] == "tool"]
    sent = results_in(compact(openai_list(entries), plan))
    assert sent == [CLEARED if entry["id"] in cleared else entry["content"] for entry in results]


def gemini_tokens(entry, text):
    key = "error" if entry["error"] and text == entry["content"] else "output"
    response = json.dumps({key: text}, separators=(",", ":"))
    return (len(entry["name"]) + len(response)) // 4


def gemini_preview(entry):
    if entry["name"] == "run_shell_command":
        return "" if entry["error"] else entry["content"]
    content = json.dumps({"error" if entry["error"] else "output": entry["content"]}, indent=2)
    return content if len(content) <= 500 else f"{content[:250]}\n... [TRUNCATED] ...\n{content[-250:]}"


def gemini_loop(messages, texts, protect, minimum):
    protected, reached, prunable = 0, False, []
    for message in reversed(messages[:-1]):
        for entry in reversed(message):
            text = texts.get(entry["id"], "<tool_output_masked") if entry["role"] == "tool" else ""
            if entry["role"] != "tool" or entry["name"] == "ask_user" or "<tool_output_masked" in text:
                continue
            protected += gemini_tokens(entry, text)
            reached = reached or protected > protect
            if reached:
                prunable.append(entry)
    if sum(gemini_tokens(entry, texts[entry["id"]]) for entry in prunable) < minimum:
        return
    for entry in prunable:
        mask = f"<tool_output_masked>\n{gemini_preview(entry)}\n\nOutput too large. Full output available at: F"
        mask += "\n</tool_output_masked>"
        if gemini_tokens(entry, texts[entry["id"]]) > gemini_tokens(entry, mask):
            texts[entry["id"]] = mask


@given(conversations(), some.integers(0, 50) | some.just(300), some.sampled_from((0, 30, 500)))
@settings(max_examples=examples(80))
def test_gemini_s_masking_is_its_loop_before_every_request(entries, protect, minimum):
    texts = {entry["id"]: entry["content"] for entry in entries if entry["role"] == "tool"}
    for length in prompts(entries):
        messages = []
        for entry in entries[:length]:
            if entry["role"] == "tool" and messages[-1][0]["role"] == "tool":
                messages[-1].append(entry)
            else:
                messages.append([entry])
        gemini_loop(messages, texts, protect, minimum)
    plan = Plan.of(strategy("gemini-mask", protect=protect, minimum=minimum, file="F"))
    sent = results_in(compact(openai_list(entries), plan))
    if entries[-1]["role"] == "assistant":
        # The next request has been masked too, and holds the answer alone.
        gemini_loop([*messages, [entries[-1]]], texts, protect, minimum)
    assert sent == list(texts.values())


@given(some.integers(0, 60), some.sampled_from(("half", "quarter", "last-two", "none")))
def test_cline_removes_an_even_number_that_ends_with_an_answer(count, keep):
    messages = [{"role": "assistant" if at % 2 else "user", "content": f"{at}"} for at in range(count)]
    sent = apply_once(messages, Plan.of(strategy("cline-truncate", keep=keep)), input_tokens=1_000_000)
    gone = len(messages) - len(sent)
    rest = max(count - 2, 0)
    assert gone in (messages_to_remove(rest, keep), messages_to_remove(rest, keep) - 1)
    assert gone % 2 == 0
    assert sent[2:] == messages[2 + gone :]
    assert [message["role"] for message in sent] == [message["role"] for message in messages[: len(sent)]]


def test_cline_allows_what_its_table_says():
    assert [allowed_tokens(window) for window in (64_000, 128_000, 200_000, 1_000_000, 100_000)] == [
        37_000,
        98_000,
        160_000,
        960_000,
        80_000,
    ]


@given(some.integers(1, 60), some.floats(0.0, 1.0))
def test_roo_hides_an_even_number_after_the_first_message(count, fraction):
    messages = [{"role": "assistant" if at % 2 else "user", "content": f"{at}"} for at in range(count)]
    sent = apply_once(messages, Plan.of(strategy("roo-truncate", fraction=fraction)), input_tokens=1_000_000)
    hidden = int((count - 1) * fraction) // 2 * 2
    note = {"role": "user", "content": f"[Sliding window truncation: {hidden} messages hidden to reduce context]"}
    assert sent == [messages[0], *([note] if hidden else []), *messages[1 + hidden :]]
