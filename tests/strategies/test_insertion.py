import pytest

from inspector.strategies.library.at_insertion import (
    StoreLarge,
    StoreText,
    TrimAtInsertion,
    budgets_for_window,
    file_name,
)
from inspector.strategies.library.micro_x import CapAtInsertion
from tests.strategies.conversations import Sent, content, matches, session_of, steps


def inserted(strategy, text, *, tool="terminal", identifier="call_1"):
    entries = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "calls": [{"id": identifier, "name": tool, "args": {}}]},
        {"role": "tool", "id": identifier, "name": tool, "content": text},
    ]
    return Sent(session_of(entries), strategy).text(2)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (12_000, None),
        (12_001, "a" * 4000 + "\n\n[... 4,001 chars trimmed from terminal output ...]\n\n" + "a" * 4000),
        (40_000, "a" * 4000 + "\n\n[... 32,000 chars trimmed from terminal output ...]\n\n" + "a" * 4000),
    ],
)
def test_a_result_over_the_threshold_keeps_head_and_tail(length, expected):
    text = "a" * length
    assert inserted(TrimAtInsertion(), text) == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("tool", "threshold", "head", "tail"),
    [
        ("terminal", 15_000, 2_000, 8_000),
        ("read_file", 10_000, 5_000, 3_000),
        ("search_files", 8_000, 4_000, 4_000),
        ("web_extract", 8_000, 4_000, 2_000),
        ("anything_else", 12_000, 4_000, 4_000),
    ],
)
def test_with_per_tool_each_kind_of_tool_has_the_proposal_s_profile(tool, threshold, head, tail):
    strategy = TrimAtInsertion(per_tool=True)
    assert inserted(strategy, "a" * threshold, tool=tool) == "a" * threshold
    text = "h" * head + "m" * (threshold + 1 - head - tail) + "t" * tail
    note = f"\n\n[... {threshold + 1 - head - tail:,} chars trimmed from {tool} output ...]\n\n"
    assert inserted(strategy, text, tool=tool) == "h" * head + note + "t" * tail


def test_the_hard_cap_stays_behind_as_an_emergency_brake():
    strategy = TrimAtInsertion(threshold=1_000_000)
    note = "\n\n[Cut: tool response was 150,000 chars, exceeding the 100,000 char limit]"
    assert inserted(strategy, "a" * 150_000) == "a" * 100_000 + note
    wide = TrimAtInsertion(threshold=200_000, head=90_000, tail=90_000)
    trimmed = inserted(wide, "a" * 250_000)
    assert trimmed.startswith("a" * 90_000 + "\n\n[... 70,000 chars trimmed from terminal output ...]\n\naaa")
    assert trimmed.endswith(" chars, exceeding the 100,000 char limit]")


def test_a_tail_longer_than_the_text_keeps_it_all():
    text = "".join(chr(97 + at % 26) for at in range(4_900))
    trimmed = inserted(TrimAtInsertion(threshold=100, head=10, tail=5_000), text)
    assert trimmed == text[:10] + "\n\n[... -110 chars trimmed from terminal output ...]\n\n" + text[-5_000:]


def test_exempt_tools_are_not_trimmed_but_the_hard_cap_holds_for_them():
    exempt = TrimAtInsertion(exempt_tools=("terminal",))
    assert inserted(exempt, "a" * 100_000) == "a" * 100_000
    note = "\n\n[Cut: tool response was 100,001 chars, exceeding the 100,000 char limit]"
    assert inserted(exempt, "a" * 100_001) == "a" * 100_000 + note
    assert inserted(TrimAtInsertion(exempt_tools=("terminal",), cap=0), "a" * 100_001) == "a" * 100_001


def test_the_cap_of_the_token_budget_s_program_is_reproduced(vectors):
    assert vectors["microx.insertion_truncate"]
    for vector in vectors["microx.insertion_truncate"]:
        given, limit = vector["input"], vector["params"]["MaxToolResultChars"]
        text = inserted(CapAtInsertion(limit=limit), content(given["content"]), tool=given["tool"])
        assert matches(text, vector["expected"]["result"])


def test_a_capped_result_says_how_much_of_it_is_shown():
    text = inserted(CapAtInsertion(), "q" * 85_000, tool="gmail_read")
    note = "\n\n[OUTPUT TRUNCATED: Showing 40,000 of 85,000 characters from gmail_read]"
    assert text == "q" * 40_000 + note
    assert inserted(CapAtInsertion(limit=0), "q" * 85_000) == "q" * 85_000


def test_stored_results_are_reproduced_byte_for_byte(vectors):
    assert vectors["hermes.persist"]
    for vector in vectors["hermes.persist"]:
        given, params = vector["input"], vector["params"]
        strategy = StoreLarge(
            limit=params["default_result_size"],
            batch_budget=10_000_000,
            preview=params["preview_size"],
            **({} if params["env"] else {"folder": ""}),
        )
        text = inserted(strategy, content(given["content"]), tool=given["tool"], identifier=given["id"])
        assert matches(text, vector["expected"]["result"])


def test_an_agent_that_cannot_save_says_that_the_rest_is_lost():
    text = inserted(StoreLarge(folder=""), "x" * 100_001)
    note = "\n\n[Truncated: tool response was 100,001 chars. Full output could not be saved to sandbox.]"
    assert text == "x" * 1_500 + note


def test_the_largest_results_of_a_batch_are_stored_until_it_is_under_its_budget(vectors):
    assert vectors["hermes.enforce_turn_budget"]
    for vector in vectors["hermes.enforce_turn_budget"]:
        sizes = vector["input"]["batch_sizes"]
        calls = [{"id": f"b{at}", "name": "terminal", "args": {}} for at in range(len(sizes))]
        entries = [{"role": "user", "content": "q"}, {"role": "assistant", "calls": calls}]
        entries += [
            {"role": "tool", "id": f"b{at}", "name": "terminal", "content": "x" * size} for at, size in enumerate(sizes)
        ]
        strategy = StoreLarge(batch_budget=vector["params"]["turn_budget"])
        for grouped in (False, True):
            sent = Sent(session_of(entries, grouped=grouped), strategy)
            lengths = [sent.rendition(index).length for index in sent.history.results.tolist()]
            expected = vector["expected"]["final_lens"]
            assert [length == size for length, size in zip(lengths, sizes, strict=True)] == [
                length == size for length, size in zip(expected, sizes, strict=True)
            ]
            # The notice names the result's file, and so its length goes with the id's.
            assert all(abs(length - wanted) < 10 for length, wanted in zip(lengths, expected, strict=True))


def test_budgets_scale_with_the_window_between_floor_and_cap(vectors):
    assert vectors["hermes.budget_for_context_window"]
    for vector in vectors["hermes.budget_for_context_window"]:
        window = vector["input"]["context_length"] or 0
        budgets = budgets_for_window(window, 100_000, 200_000)
        assert (budgets.result, budgets.batch) == (vector["expected"]["per_result"], vector["expected"]["per_turn"])


def test_a_stored_result_s_file_is_named_safely():
    assert file_name("call_1") == "call_1.txt"
    assert file_name("") == "tool_result.txt"
    odd = file_name("../../etc/passwd")
    assert odd.startswith("etc_passwd_")
    assert "/" not in odd
    assert len(file_name("x" * 500)) == 120 + 1 + 12 + 4


def test_a_preview_of_everything_has_no_ellipsis():
    entries = steps(1, tool="terminal", size=100)
    text = StoreText(0, 1_500, "/saved")
    sent = Sent(session_of(entries), StoreLarge(limit=50, folder="/saved"))
    assert text.limit == 0
    assert sent.text(3).endswith("Preview (first 100 chars):\n" + "a" * 100 + "\n</persisted-output>")


@pytest.mark.parametrize(("window", "threshold"), [(200_000, 4_000), (1_000_000, 12_000), (32_000, 1_000)])
def test_the_adaptive_threshold_is_a_share_of_the_window_and_head_and_tail_shrink_with_it(window, threshold):
    strategy = TrimAtInsertion(adaptive="window", window=window)
    assert inserted(strategy, "a" * threshold) == "a" * threshold
    kept = threshold // 3
    note = f"\n\n[... {threshold + 1 - 2 * kept:,} chars trimmed from terminal output ...]\n\n"
    assert inserted(strategy, "a" * (threshold + 1)) == "a" * kept + note + "a" * kept


def test_the_fuller_the_window_the_less_of_a_result_is_inserted_and_it_stays_so():
    strategy = TrimAtInsertion(adaptive="remaining", window=20_000, adaptive_share=0.5)
    session = session_of(steps(12, size=9_000, tool="terminal"))
    sent = Sent(session, strategy)
    calls = range(len(session.calls) + 1)
    inserted_lengths = []
    for block in sent.history.results.tolist():
        lengths = {len(sent.text(block, call)) for call in calls if block in sent.history.prompt(call)}
        assert len(lengths) == 1, "what was inserted stays"
        inserted_lengths += lengths
    assert inserted_lengths[0] == 9_000
    assert inserted_lengths == sorted(inserted_lengths, reverse=True)
    assert inserted_lengths[-1] < inserted_lengths[0] / 3
