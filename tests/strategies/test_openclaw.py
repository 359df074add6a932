import json
import math
import re

from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.strategies.library.openclaw import OpenClawPrune, weighted, weighted_by_script
from tests.examples import examples
from tests.strategies.conversations import Sent, blocks_of_entries, session_of, steps

PLACEHOLDER = "[Old tool result content cleared]"


def pruned(entries, strategy, window):
    """What OpenClaw's function makes of a list of messages, texts without characters outside Latin scripts."""

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
    if total / (window * 4) < strategy.soft_ratio:
        return texts
    prunable = [at for at in range(start, cutoff) if entries[at]["role"] == "tool" and entries[at]["name"] != "keep"]
    for at in prunable:
        text, head, tail = texts[at], strategy.head, strategy.tail
        if len(text) > strategy.threshold and head + tail < len(text):
            note = f"[Tool result trimmed: kept first {head} chars and last {tail} chars of {len(text)} chars.]"
            texts[at] = f"{text[:head]}\n...\n{text[len(text) - tail :]}\n\n{note}"
            total += len(texts[at]) - len(text)
    if total / (window * 4) < strategy.hard_ratio or sum(len(texts[at]) for at in prunable) < strategy.minimum:
        return texts
    for at in prunable:
        if total / (window * 4) < strategy.hard_ratio:
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


@given(runs(), some.data())
@settings(max_examples=examples(150))
def test_every_call_after_an_expired_cache_sends_what_openclaw_s_function_makes_of_the_list(entries, data):
    window = data.draw(some.sampled_from([50, 200, 1_000]))
    strategy = OpenClawPrune(
        keep_assistants=data.draw(some.integers(0, 3)),
        soft_ratio=data.draw(some.sampled_from([0.0, 0.3])),
        hard_ratio=data.draw(some.sampled_from([0.0, 0.5, 10.0])),
        minimum=data.draw(some.sampled_from([0, 100, 1_000])),
        threshold=data.draw(some.integers(0, 200)),
        head=data.draw(some.integers(0, 60)),
        tail=data.draw(some.integers(0, 60)),
        deny=("ke*",),
        window=window,
    )
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
        if since >= strategy.ttl and (changed := pruned(before, strategy, window)) != wanted:
            wanted, since = changed, 0.0
        assert [sent.text(blocks[place], number) for place in range(at)] == wanted


def projected(entry, mode, strategy):
    """The text of a result that was soft-trimmed or hard-cleared, or is whole."""
    text, head, tail = entry["content"], strategy.head, strategy.tail
    if mode == "hard":
        return PLACEHOLDER
    if mode != "soft":
        return text
    note = f"[Tool result trimmed: kept first {head} chars and last {tail} chars of {len(text)} chars.]"
    return f"{text[:head]}\n...\n{text[len(text) - tail :]}\n\n{note}"


def pruned_for_good(entries, modes, strategy, window):
    """Add what a round of 2026.9.6's `pruneExpiredCacheTtlToolResults` prunes to what earlier rounds did, by place.

    Worked out from its source for texts without characters outside Latin scripts.
    """

    def size(at):
        arguments = [json.dumps(call["args"], separators=(",", ":")) for call in entries[at].get("calls", ())]
        return sum(map(len, [projected(entries[at], modes.get(at), strategy), *arguments]))

    assistants = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    start = next((at for at, entry in enumerate(entries) if entry["role"] == "user"), len(entries))
    total = sum(map(size, range(len(entries))))
    if len(assistants) < strategy.keep_assistants or total / (window * 4) < strategy.soft_ratio:
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
    if total / (window * 4) >= strategy.hard_ratio and sum(map(size, eligible)) >= strategy.minimum:
        for at in eligible:
            if total / (window * 4) < strategy.hard_ratio:
                break
            total -= size(at)
            modes[at] = "hard"
            total += size(at)


@given(runs(), some.data())
@settings(max_examples=examples(150))
def test_in_2026_9_every_round_adds_to_what_earlier_ones_pruned_and_every_request_touches_the_cache(entries, data):
    window = data.draw(some.sampled_from([50, 200, 1_000]))
    strategy = OpenClawPrune(
        keep_assistants=data.draw(some.integers(0, 3)),
        soft_ratio=data.draw(some.sampled_from([0.0, 0.3])),
        hard_ratio=data.draw(some.sampled_from([0.0, 0.3, 0.5, 10.0])),
        minimum=data.draw(some.sampled_from([0, 100, 1_000])),
        threshold=data.draw(some.integers(0, 200)),
        head=data.draw(some.integers(0, 60)),
        tail=data.draw(some.integers(0, 60)),
        deny=("ke*",),
        window=window,
        variant="2026.9",
    )
    sent = Sent(session_of(entries), strategy)
    blocks = blocks_of_entries(entries)
    calls = [at for at, entry in enumerate(entries) if entry["role"] == "assistant"]
    modes: dict[int, str] = {}
    for number, at in enumerate(calls):
        before = entries[:at]
        if number and entries[at]["time"] - entries[calls[number - 1]]["time"] >= strategy.ttl:
            pruned_for_good(before, modes, strategy, window)
        wanted = [projected(entry, modes.get(place), strategy) for place, entry in enumerate(before)]
        assert [sent.text(blocks[place], number) for place in range(at)] == wanted


def in_one_run(times, **sizes):
    """A question that was answered at once, and another with calls of tools at these times."""
    entries = steps(len(times), **sizes)
    for at, time in zip(range(1, len(entries), 2), times, strict=True):
        entries[at]["time"] = time
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "time": 0.0}, *entries]


def test_in_2026_9_a_request_within_a_run_touches_the_cache():
    """The run before ended 410 seconds ago, and the last request was made 200 seconds ago."""
    session = session_of(in_one_run([10.0, 11.0, 12.0, 13.0, 210.0, 410.0], size=300))
    small = {"soft_ratio": 0.0, "threshold": 100, "head": 10, "tail": 10}
    counts = {}
    for variant in ("sticky", "2026.9"):
        sent = Sent(session, OpenClawPrune(**small, variant=variant))
        counts[variant] = [len(sent.changed(call)) for call in range(7)]
    assert counts == {"sticky": [0, 0, 0, 0, 0, 0, 2], "2026.9": [0] * 7}


def test_in_2026_9_no_character_is_cut_in_two():
    entries = in_one_run([10.0, 11.0, 12.0, 13.0, 410.0], size=1)
    entries[4]["content"] = "a" + "\U0001f600" * 20 + "b"
    small = {"soft_ratio": 0.0, "threshold": 20, "head": 4, "tail": 4}
    note = "\n\n[Tool result trimmed: kept first 4 chars and last 4 chars of 42 chars.]"
    wanted = {
        "sticky": f"a\U0001f600\ufffd\n...\n\ufffd\U0001f600b{note}",
        "2026.9": f"a\U0001f600\n...\n\U0001f600b{note}",
    }
    for variant, text in wanted.items():
        sent = Sent(session_of(entries), OpenClawPrune(**small, variant=variant))
        assert [*sent.changed(5).values()] == [text]


def test_in_2026_9_a_character_of_a_wide_script_is_taken_for_more_the_rarer_it_is():
    letters = {"漢": 4, "\u3400": 12, "ｱ": 8, "\U0001d360": 12, "\U00020000": 16, "\u00b7": 4, "é": 1, "😀": 2}
    assert {letter: weighted_by_script(letter) for letter in letters} == letters
    assert weighted_by_script("".join(letters)) == sum(letters.values())


def test_what_was_pruned_is_whole_again_in_the_next_request_or_stays_pruned():
    entries = steps(6, size=300)
    for at, time in zip(range(1, 13, 2), (0, 1, 2, 3, 4, 5), strict=True):
        entries[at]["time"] = float(time)
    entries += [{"role": "assistant", "content": "done", "time": 6.0}, {"role": "user", "content": "more"}]
    entries += [{"role": "assistant", "content": "on it", "time": 400.0}, {"role": "user", "content": "more"}]
    entries += [{"role": "assistant", "content": "on it", "time": 401.0}]
    small = {"soft_ratio": 0.0, "threshold": 100, "head": 10, "tail": 10}
    once, sticky = (
        Sent(session_of(entries), OpenClawPrune(**small, variant=variant)) for variant in ("one-request", "sticky")
    )
    assert [len(once.changed(call)) for call in range(10)] == [0] * 7 + [4, 0, 0]
    assert [len(sticky.changed(call)) for call in range(10)] == [0] * 7 + [4, 4, 4]


def test_without_times_nothing_is_ever_pruned():
    assert Sent(session_of(steps(30)), OpenClawPrune(soft_ratio=0.0, window=10)).changed() == {}


@given(some.text(alphabet=some.one_of(some.characters(), some.sampled_from("漢字가ｱ￥𠀀𪜀😀"))))
def test_characters_of_wide_scripts_count_four(text):
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    ranges = "\u2e80-\u9fff\ua000-\ua4ff\uac00-\ud7af\uf900-\ufaff\uff01-\uff60\uffe0-\uffe6\U00020000-\U0002fa1f"
    wide = len(re.findall(f"[{ranges}]", text))
    two_units = len(re.findall("[\U00020000-\U0002fbff]", text)) if wide else 0
    assert weighted(text) == units - two_units + 3 * wide
