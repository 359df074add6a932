import json

from hypothesis import given
from hypothesis import strategies as some

from inspector.replay.message_lists import compact
from inspector.strategies.library.cozempic import CozempicAge, CozempicTrim, minify
from tests.strategies.conversations import Sent, session_of
from tests.strategies.plain_lists import anthropic_list, openai_list
from tests.strategies.recorded import changed


def turns(count):
    return [{"role": "user", "content": f"q{number}"} for number in range(count)]


def test_a_result_ages_with_what_the_user_types():
    call = {"id": "c", "name": "Grep", "args": {"pattern": "def", "command": "x"}}
    text = json.dumps({"matches": list(range(60))}, indent=4)
    entries = [{"role": "assistant", "calls": [call]}, {"role": "tool", "id": "c", "content": text}]
    for turn in turns(4):
        entries += [turn, {"role": "assistant", "content": "ok"}]
    sent = Sent(session_of(entries), CozempicAge(middle=2, old=4))
    minified = json.dumps(json.loads(text), separators=(",", ":"))
    stub = f"[cozempic: Grep def — {text.count(chr(10)) + 1} lines, {len(text) / 1024:.1f}KB]"
    assert [sent.changed(call).get(1) for call in range(1, 6)] == [None, minified, minified, stub, stub]


def test_results_in_one_record_are_aged_only_if_together_they_get_shorter():
    def sizes(*lengths):
        calls = [{"id": f"c{at}", "name": "Bash", "args": {"command": "x" * 80}} for at in range(len(lengths))]
        entries = [{"role": "assistant", "calls": calls}]
        entries += [{"role": "tool", "id": f"c{at}", "content": "y" * length} for at, length in enumerate(lengths)]
        messages = anthropic_list([*entries, *turns(40)])
        return changed(messages, compact(messages, "cozempic-age"))

    # The replacement line of the shorter result is longer than the result.
    assert sizes(100) == {}
    assert sizes(100, 110) == {}
    assert [len(part["content"]) < 150 for part in sizes(100, 2_000)["1"]] == [True, True]


def test_of_several_stale_reads_in_a_record_the_last_goes_first():
    calls = [{"id": f"r{at}", "name": "Read", "args": {"file_path": path}} for at, path in enumerate("abc")]
    entries = [{"role": "user", "content": "q"}, {"role": "assistant", "calls": calls}]
    entries += [{"role": "tool", "id": f"r{at}", "content": path * 600} for at, path in enumerate("abc")]
    edit = {"id": "e", "name": "Edit", "args": {"file_path": "b"}}
    entries += [{"role": "assistant", "calls": [edit]}, {"role": "tool", "id": "e", "content": "ok"}]
    entries += [{"role": "assistant", "content": "go"}, {"role": "user", "content": "on"}] * 4
    for form, gone in (
        (anthropic_list, ["", "c", "bc", "abc", "abc"]),
        (openai_list, ["", "abc", "abc", "abc", "abc"]),
    ):
        messages = form(entries)
        sent = [compact(messages[:-end], "cozempic-stale-reads") for end in (10, 8, 6, 4, 2)]
        assert ["".join(path for path in "abc" if path * 600 not in str(list_sent)) for list_sent in sent] == gone


def test_context_lines_leave_a_difference_and_nothing_else():
    difference = (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n" + " same\n" * 30 + "-old\n+new\n same\nprose\n  kept"
    )
    assert minify(difference) == (
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n  [...30 unchanged lines...]\n-old\n+new\n"
        "  [...1 unchanged lines...]\nprose\n  kept"
    )
    assert minify(difference.replace("--- a/x\n", "").replace("diff --git", "x")) == difference.replace(
        "--- a/x\n", ""
    ).replace("diff --git", "x")


@given(some.text(), some.integers(0, 50), some.integers(0, 6))
def test_trimming_never_makes_a_result_longer(text, max_bytes, max_lines):
    entries = [{"role": "user", "content": "q"}, {"role": "tool", "id": "c", "name": "Bash", "content": text}]
    for new in Sent(session_of(entries), CozempicTrim(max_bytes=max_bytes, max_lines=max_lines)).changed().values():
        assert len(json.dumps(new)) < len(json.dumps(text))
