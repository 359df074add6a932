import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.strategies.library.openclaw import OpenClawPrune, weighted, weighted_by_script
from tests.examples import examples
from tests.strategies.conversations import Sent, blocks_of_entries, session_of, steps

PLACEHOLDER = "[Old tool result content cleared]"


def trimmed(text, strategy):
    head, tail = strategy.head, strategy.tail
    note = f"[Tool result trimmed: kept first {head} chars and last {tail} chars of {len(text)} chars.]"
    return f"{text[:head]}\n...\n{text[len(text) - tail :]}\n\n{note}"


def pruned(entries, strategy):
    def size(entry):
        arguments = [json.dumps(call["args"], separators=(",", ":")) for call in entry.get("calls", ())]
        return sum(map(len, [entry["content"], *arguments]))

    texts = [entry["content"] for entry in entries]
    assistants = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    if len(assistants) < strategy.keep_assistants:
        return texts
    cutoff = assistants[-strategy.keep_assistants] if strategy.keep_assistants else len(entries)
    start = next((at for at, entry in enumerate(entries) if entry["role"] == "user"), len(entries))
    total = sum(map(size, entries))
    if total / (strategy.window * 4) < strategy.soft_ratio:
        return texts
    prunable = [at for at in range(start, cutoff) if entries[at]["role"] == "tool" and entries[at]["name"] != "keep"]
    for at in prunable:
        text, head, tail = texts[at], strategy.head, strategy.tail
        if len(text) > strategy.threshold and head + tail < len(text):
            texts[at] = trimmed(text, strategy)
            total += len(texts[at]) - len(text)
    if total / (strategy.window * 4) < strategy.hard_ratio or sum(len(texts[at]) for at in prunable) < strategy.minimum:
        return texts
    for at in prunable:
        if total / (strategy.window * 4) < strategy.hard_ratio:
            break
        total += len(PLACEHOLDER) - len(texts[at])
        texts[at] = PLACEHOLDER
    return texts


@some.composite
def runs(draw):
    """Runs of the agent with pauses between its calls and between the runs."""
    entries, time, number = [], 0.0, 0
    for _ in range(draw(some.integers(1, 4))):
        if entries or draw(some.booleans()):
            entries.append({"role": "user", "content": "question"})
        for _ in range(draw(some.integers(1, 4))):
            calls = [
                {
                    "id": f"c{number + at}",
                    "name": draw(some.sampled_from(["bash", "keep"])),
                    "args": {"command": "x" * at},
                }
                for at in range(draw(some.integers(0, 2)))
            ]
            number += len(calls)
            time += draw(some.sampled_from([1.0, 200.0, 299.0, 300.0, 1000.0]))
            entries.append({"role": "assistant", "content": "words", "calls": calls, "time": time})
            for call in calls:
                text = chr(97 + number % 26) * draw(some.integers(0, 400))
                entries.append({"role": "tool", "id": call["id"], "name": call["name"], "content": text})
    return entries


def strategies(hard_ratios, **fixed):
    """OpenClaw's rule with all of its limits drawn."""
    return some.builds(
        OpenClawPrune,
        keep_assistants=some.integers(0, 3),
        soft_ratio=some.sampled_from([0.0, 0.3]),
        hard_ratio=some.sampled_from(hard_ratios),
        minimum=some.sampled_from([0, 100, 1_000]),
        threshold=some.integers(0, 200),
        head=some.integers(0, 60),
        tail=some.integers(0, 60),
        deny=some.just(("ke*",)),
        window=some.sampled_from([50, 200, 1_000]),
        **{name: some.just(value) for name, value in fixed.items()},
    )


@given(runs(), strategies([0.0, 0.5, 10.0]))
@settings(max_examples=examples(150))
def test_every_call_after_an_expired_cache_sends_what_openclaw_s_function_makes_of_the_list(entries, strategy):
    sent = Sent(session_of(entries), strategy)
    blocks = blocks_of_entries(entries)
    calls = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    since = math.nan
    for number, at in enumerate(calls):
        before = entries[:at]
        new = entries[calls[number - 1] + 1 : at] if number else before
        gap = entries[at]["time"] - entries[calls[number - 1]]["time"] if number else math.nan
        since = gap if not number or any(entry["role"] == "user" for entry in new) else since + gap
        wanted = [entry["content"] for entry in before]
        if since >= strategy.ttl and (changed := pruned(before, strategy)) != wanted:
            wanted, since = changed, 0.0
        assert [sent.text(blocks[place], number) for place in range(at)] == wanted


def projected(entry, mode, strategy):
    """The text of a result that was soft-trimmed or hard-cleared, or is whole."""
    if mode == "hard":
        return PLACEHOLDER
    return trimmed(entry["content"], strategy) if mode == "soft" else entry["content"]


def pruned_for_good(entries, modes, strategy):
    def size(at):
        arguments = [json.dumps(call["args"], separators=(",", ":")) for call in entries[at].get("calls", ())]
        return sum(map(len, [projected(entries[at], modes.get(at), strategy), *arguments]))

    assistants = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    start = next((at for at, entry in enumerate(entries) if entry["role"] == "user"), len(entries))
    total = sum(map(size, range(len(entries))))
    if len(assistants) < strategy.keep_assistants or total / (strategy.window * 4) < strategy.soft_ratio:
        return
    cutoff = assistants[-strategy.keep_assistants] if strategy.keep_assistants else len(entries)
    eligible = []
    for at in range(start, cutoff):
        entry = entries[at]
        if entry["role"] != "tool" or entry["name"] == "keep" or modes.get(at) == "hard":
            continue
        eligible.append(at)
        length = len(entry["content"])
        if at not in modes and length > strategy.threshold and strategy.head + strategy.tail < length:
            total -= size(at)
            modes[at] = "soft"
            total += size(at)
    if total / (strategy.window * 4) >= strategy.hard_ratio and sum(map(size, eligible)) >= strategy.minimum:
        for at in eligible:
            if total / (strategy.window * 4) < strategy.hard_ratio:
                break
            total -= size(at)
            modes[at] = "hard"
            total += size(at)


@given(runs(), strategies([0.0, 0.3, 0.5, 10.0], variant="2026.9"))
@settings(max_examples=examples(150))
def test_in_2026_9_every_round_adds_to_what_earlier_ones_pruned_and_every_request_touches_the_cache(entries, strategy):
    sent = Sent(session_of(entries), strategy)
    blocks = blocks_of_entries(entries)
    calls = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    modes: dict[int, str] = {}
    for number, at in enumerate(calls):
        before = entries[:at]
        if number and entries[at]["time"] - entries[calls[number - 1]]["time"] >= strategy.ttl:
            pruned_for_good(before, modes, strategy)
        wanted = [projected(entry, modes.get(place), strategy) for place, entry in enumerate(before)]
        assert [sent.text(blocks[place], number) for place in range(at)] == wanted


def in_one_run(times, **sizes):
    """A question that was answered at once, and another with calls of tools at these times."""
    entries = steps(len(times), **sizes)
    for at, time in zip(range(1, len(entries), 2), times, strict=True):
        entries[at]["time"] = time
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "time": 0.0}, *entries]


def changed_counts(entries, variant, calls):
    sent = Sent(session_of(entries), OpenClawPrune(soft_ratio=0.0, threshold=100, head=10, tail=10, variant=variant))
    return [len(sent.changed(call)) for call in range(calls)]


@pytest.mark.parametrize(("variant", "counts"), [("sticky", [0, 0, 0, 0, 0, 0, 2]), ("2026.9", [0] * 7)])
def test_in_2026_9_a_request_within_a_run_touches_the_cache(variant, counts):
    """The run before ended 410 seconds ago, and the last request was made 200 seconds ago."""
    assert changed_counts(in_one_run([10.0, 11.0, 12.0, 13.0, 210.0, 410.0], size=300), variant, len(counts)) == counts


@pytest.mark.parametrize(
    ("variant", "kept"),
    [
        ("sticky", "a\U0001f600\ufffd\n...\n\ufffd\U0001f600b"),
        ("2026.9", "a\U0001f600\n...\n\U0001f600b"),
    ],
)
def test_in_2026_9_no_character_is_cut_in_two(variant, kept):
    entries = in_one_run([10.0, 11.0, 12.0, 13.0, 410.0], size=1)
    entries[4]["content"] = "a" + "\U0001f600" * 20 + "b"
    strategy = OpenClawPrune(soft_ratio=0.0, threshold=20, head=4, tail=4, variant=variant)
    note = "\n\n[Tool result trimmed: kept first 4 chars and last 4 chars of 42 chars.]"
    assert [*Sent(session_of(entries), strategy).changed(5).values()] == [kept + note]


def test_in_2026_9_a_character_of_a_wide_script_is_taken_for_more_the_rarer_it_is():
    letters = {"漢": 4, "\u3400": 12, "ｱ": 8, "\U0001d360": 12, "\U00020000": 16, "\u00b7": 4, "é": 1, "😀": 2}
    assert {letter: weighted_by_script(letter) for letter in letters} == letters
    assert weighted_by_script("".join(letters)) == sum(letters.values())


@pytest.mark.parametrize(("variant", "last"), [("one-request", [4, 0, 0]), ("sticky", [4, 4, 4])])
def test_what_was_pruned_is_whole_again_in_the_next_request_or_stays_pruned(variant, last):
    entries = steps(6, size=300)
    for at, time in zip(range(1, 13, 2), (0, 1, 2, 3, 4, 5), strict=True):
        entries[at]["time"] = float(time)
    entries += [{"role": "assistant", "content": "done", "time": 6.0}, {"role": "user", "content": "more"}]
    entries += [{"role": "assistant", "content": "on it", "time": 400.0}, {"role": "user", "content": "more"}]
    entries += [{"role": "assistant", "content": "on it", "time": 401.0}]
    assert changed_counts(entries, variant, 10) == [0] * 7 + last


def test_without_times_nothing_is_ever_pruned():
    assert Sent(session_of(steps(30)), OpenClawPrune(soft_ratio=0.0, window=10)).changed() == {}


@given(some.text(alphabet=some.one_of(some.characters(), some.sampled_from("漢字가ｱ￥𠀀𪜀😀"))))
def test_characters_of_wide_scripts_count_four(text):
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    ranges = "\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f"
    wide = len(re.findall(f"[{ranges}]", text))
    two_units = len(re.findall("[\U00020000-\U0002fbff]", text)) if wide else 0
    assert weighted(text) == units - two_units + 3 * wide
