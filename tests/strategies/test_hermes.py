import json
from itertools import pairwise

import pytest

from inspector.strategies.library.hermes import HermesPrepass, HermesProactivePrune, threshold_for
from inspector.strategies.library.hermes_tail import line_for
from tests.strategies.conversations import Sent, session_of, steps


def always(tokens, calls=40):
    return dict.fromkeys(range(calls), tokens)


def pruned(sent):
    return [len(sent.changed(call)) for call in range(sent.history.call_count + 1)]


@pytest.mark.parametrize(
    ("window", "threshold"),
    [(1_000_000, 500_000), (512_000, 256_000), (511_999, 383_999), (128_000, 96_000), (64_000, 54_400), (1_000, 850)],
)
def test_the_threshold_is_higher_for_small_windows_and_below_the_smallest(window, threshold):
    assert threshold_for(window, 0.5) == threshold


def test_early_pruning_waits_for_a_worthwhile_batch_and_then_for_the_conversation_to_grow():
    # Each result is about 2,500 tokens by Hermes' count, so two are worth a pass and one is not.
    entries = steps(30, tool="terminal", size=10_000)
    strategy = HermesProactivePrune(protect_last=4, protect_first=1, trigger=10_000)
    counts = pruned(Sent(session_of(entries), strategy, measured=always(20_000)))
    passes = [call for call in range(1, len(counts)) if counts[call] != counts[call - 1]]
    assert counts[: passes[0]] == [0] * passes[0]
    assert counts[passes[0]] == 2
    assert all(later - earlier >= 4 for earlier, later in pairwise(passes))
    assert len(passes) > 2


def test_early_pruning_needs_a_long_last_prompt_and_a_result_at_the_end():
    entries = [*steps(20, tool="terminal", size=10_000), {"role": "assistant", "content": "done"}]
    strategy = HermesProactivePrune(protect_last=4)
    assert pruned(Sent(session_of(entries), strategy, measured=always(47_999)))[-1] == 0
    assert pruned(Sent(session_of(entries), strategy, measured={20: 48_000}))[-1] == 0
    assert pruned(Sent(session_of(entries), strategy, measured={19: 48_000}))[-1] > 0
    assert pruned(Sent(session_of(entries), HermesProactivePrune(trigger=0), measured=always(10**6)))[-1] == 0


def test_two_passes_that_leave_the_prompt_too_long_are_the_last_until_one_fits():
    entries = steps(14, tool="terminal", size=300)
    strategy = HermesPrepass(window=100_000, protect_last=2, tail=0.0)
    measured = always(90_000) | {8: 1_000}
    counts = pruned(Sent(session_of(entries), strategy, measured=measured))
    passes = [call for call in range(1, len(counts)) if counts[call] != counts[call - 1]]
    # The first pass, at call 1, finds nothing old and counts as one that did not help.
    assert passes == [2, 10, 11]


def test_a_result_with_the_text_of_a_newer_one_says_so_even_among_the_newest():
    entries = steps(3, tool="read_file", size=200)
    for entry in entries[2::2]:
        entry["content"] = "x" * 200
    sent = Sent(session_of(entries), HermesPrepass(window=100_000), measured={1: 90_000, 2: 90_000})
    assert sent.changed(2).keys() == {3}
    assert sent.changed(3).keys() == {3, 6}
    assert set(sent.changed(3).values()) == {"[Duplicate tool output — same content as a more recent call]"}


@pytest.mark.parametrize(
    "arguments", ["", "[]", "{", "null", "[" * 100_000, json.dumps({"command": None, "urls": [[]]})]
)
@pytest.mark.parametrize("tool", ["terminal", "web_extract", "execute_code", "memory", "anything"])
def test_a_line_can_be_written_whatever_the_arguments_are(tool, arguments):
    assert line_for(tool, arguments, "x" * 300).startswith(f"[{tool}]")
