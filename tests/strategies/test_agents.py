"""Behavior of single agent strategies at their limits and over time."""

import json

import pytest

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.strategies.conversations import Sent, session_of, steps
from tests.strategies.plain_lists import anthropic_list, inputs_in, openai_list, results_in, single_result

CLEARED = "[Old tool result content cleared]"


def plan(name, **values):
    return Plan.of(strategy(name, **values))


def cleared(messages, marker=CLEARED):
    return [text == marker for text in results_in(messages)]


def turns(count, **rest):
    """Questions, each answered with one tool call and an answer."""
    entries = []
    for at in range(count):
        entries += [{**entry, "id": f"c{at}"} if "id" in entry else entry for entry in steps(1, **rest)]
        entries[-2] = {**entries[-2], "calls": [{**entries[-2]["calls"][0], "id": f"c{at}"}]}
        entries.append({"role": "assistant", "content": "done"})
    return entries


class TestAnthropic:
    def test_what_was_cleared_stays_cleared_and_the_threshold_looks_at_what_is_left(self):
        """Four results of 1,000 tokens pass the threshold; clearing down to two puts the prompt below it again."""
        sizes = {"size": 4_000}
        sent = Sent(session_of(steps(9, **sizes)), strategy("anthropic-clear-tool-uses", trigger=4_000, keep=2))
        counts = [len(sent.changed(call)) for call in range(sent.history.call_count + 1)]
        assert counts == [0, 0, 0, 0, 2, 2, 4, 4, 6, 6]

    def test_without_memory_every_prompt_over_the_threshold_clears_what_has_become_old(self):
        made = strategy("anthropic-clear-tool-uses", trigger=4_000, keep=2, sticky=False)
        sent = Sent(session_of(steps(9, size=4_000)), made)
        counts = [len(sent.changed(call)) for call in range(sent.history.call_count + 1)]
        assert counts == [0, 0, 0, 0, 2, 3, 4, 5, 6, 7]

    def test_nothing_is_cleared_until_as_much_as_asked_for_can_be(self):
        made = strategy("anthropic-clear-tool-uses", trigger=100, keep=2, clear_at_least=2_500)
        sent = Sent(session_of(steps(9, size=4_000)), made)
        counts = [len(sent.changed(call)) for call in range(sent.history.call_count + 1)]
        assert counts == [0, 0, 0, 0, 0, 3, 3, 3, 6, 6]

    def test_named_tools_lose_their_inputs_and_excluded_ones_nothing(self):
        entries = [*steps(2), *steps(3, tool="web_search")[1:], *steps(3, tool="bash")[1:]]
        for at, entry in enumerate(entries):
            for call in entry.get("calls", ()):
                call["id"] = f"id{at}"
                entries[at + 1]["id"] = f"id{at}"
        made = plan(
            "anthropic-clear-tool-uses", trigger=0, exclude_tools=("web_search",), clear_inputs_of=("read_file",)
        )
        sent = apply_once(anthropic_list(entries), made)
        assert cleared(sent) == [True, True, *[False] * 6]
        assert [not given for given in inputs_in(sent)] == [True, True, *[False] * 6]

    def test_thinking_of_the_newest_turns_stays_whole_turns_with_tools_included(self):
        thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
        call = {"type": "tool_use", "id": "t", "name": "x", "input": {}}
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}
        turn = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [thought, call]},
            result,
            {"role": "assistant", "content": [thought, {"type": "text", "text": "a"}]},
        ]
        silent = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [{"type": "text", "text": "a"}]}]

        def left(messages, **values):
            sent = apply_once(messages, plan("anthropic-clear-thinking", **values))
            return [
                sum(part["type"] == "thinking" for part in each["content"]) for each in sent if each["role"] != "user"
            ]

        given = [*turn, *turn, *silent, *turn, {"role": "user", "content": "next"}]
        assert left(given) == [0, 0, 0, 0, 0, 1, 1]
        assert left(given, keep=2) == [0, 0, 1, 1, 0, 1, 1]
        assert left(given, keep=0) == [1, 1, 1, 1, 0, 1, 1]
        assert left(given, turn="response") == [0, 0, 0, 0, 0, 0, 1]


class TestLangChain:
    def test_over_the_trigger_every_call_clears_one_more(self):
        made = strategy("langchain-clear-tool-uses", trigger=3_000, keep=1)
        sent = Sent(session_of(steps(6, size=4_000)), made)
        assert [len(sent.changed(call)) for call in range(7)] == [0, 0, 0, 2, 3, 4, 5]

    def test_a_result_that_answers_no_call_before_it_stays(self):
        entries = steps(4)
        entries[2]["id"] = "other"
        sent = apply_once(openai_list(entries), plan("langchain-clear-tool-uses", trigger=0, keep=1))
        assert cleared(sent, "[cleared]") == [False, True, True, False]

    def test_a_second_summary_takes_the_place_of_the_first(self):
        made = plan("langchain-summarization", trigger_messages=6, trigger_tokens=0, keep_messages=3, summary_tokens=60)
        for count in (3, 6, 9):
            sent = compact(openai_list(steps(count)), made)
            assert [message["role"] for message in sent].count("user") == 1
            assert sent[0]["content"].startswith("Here is a summary of the conversation to date:\n\n")
            assert len(sent) < 6

    def test_no_trigger_means_no_summary_and_all_of_them_can_be_asked_for(self):
        given = openai_list(steps(9))
        assert compact(given, plan("langchain-summarization", trigger_tokens=0)) == given
        values = {"trigger_tokens": 1_000_000, "trigger_messages": 5, "keep_messages": 2}
        assert compact(given, plan("langchain-summarization", **values)) != given
        assert compact(given, plan("langchain-summarization", all_triggers=True, **values)) == given

    def test_what_was_reported_counts_for_a_trigger(self):
        given = openai_list(steps(9))
        made = plan("langchain-summarization", trigger_tokens=50_000, keep_messages=2)
        assert apply_once(given, made) == given
        assert apply_once(given, made, input_tokens=50_000) != given
        unscaled = plan("langchain-summarization", trigger_tokens=50_000, keep_messages=2, scaled=False)
        assert apply_once(given, unscaled, input_tokens=50_000) == given


class TestDeepagents:
    def test_the_note_reports_omitted_and_of_clipped_lines_only_where_there_are_some(self):
        def preview(text):
            (sent,) = results_in(apply_once(openai_list(single_result(text)), "deepagents-evict:limit=10"))
            return sent

        assert "preview of the result:\n\n" in preview("short line\n" * 8)
        omitted = preview("short line\n" * 11)
        assert "indicate omitted lines in the middle of the content):" in omitted
        assert "\n... [1 lines truncated] ...\n" in omitted
        clipped = preview("x" * 1_001)
        assert clipped.endswith("1  " + "x" * 1_000 + "\n")
        assert "(the output contains lines longer than 1000 characters" in clipped

    def test_large_messages_of_the_user_are_saved_too_and_exempt_tools_results_are_not(self):
        large = "line\n" * 60_000
        entries = [{"role": "user", "content": large}, *single_result(large, tool="read_file")[1:]]
        sent = apply_once(openai_list(entries), "deepagents-evict")
        assert sent[0]["content"].startswith(
            "Message content too large and was saved to the filesystem at: /conversation"
        )
        assert results_in(sent) == [large]

    def test_long_and_unsafe_ids_make_safe_names(self):
        for identifier, name in (("a/b.c\\d", "a_b_c_d"), ("x" * 129, "call-")):
            entries = single_result("y" * 50, identifier=identifier)
            (sent,) = results_in(apply_once(openai_list(entries), "deepagents-evict:limit=10"))
            assert f"/large_tool_results/{name}" in sent
            assert (f"tool call {identifier[:32]}" + "..." * (len(identifier) > 32)) in sent


class TestOpenCode:
    def test_one_question_never_prunes_however_much_is_read(self):
        given = openai_list(steps(60, size=32_000))
        assert compact(given, "opencode-prune") == given

    @pytest.mark.parametrize(("count", "before", "after"), [(9, 0, 0), (10, 0, 3), (12, 3, 3), (13, 3, 6)])
    def test_pruning_shows_when_the_next_question_is_asked(self, count, before, after):
        entries = turns(count, size=32_000)
        assert sum(cleared(compact(openai_list(entries), "opencode-prune"))) == before
        entries.append({"role": "user", "content": "next"})
        sent = cleared(compact(openai_list(entries), "opencode-prune"))
        assert sent == [at < after for at in range(count)]

    def test_what_the_agent_had_pruned_before_is_where_the_search_ends(self):
        entries = turns(12, size=32_000)
        marked = [at for at, entry in enumerate(entries) if entry["role"] == "tool"][3]
        entries[marked]["content"] = CLEARED
        assert cleared(apply_once(openai_list(entries), "opencode-prune"))[:3] == [False] * 3

    def test_a_first_line_that_does_not_fit_leaves_an_empty_preview(self):
        (sent,) = results_in(apply_once(openai_list(single_result("x" * 60_000)), "opencode-truncate"))
        assert sent.startswith("\n\n...60000 bytes truncated...\n\n")


class TestDcp:
    def test_equal_inputs_in_another_order_and_with_nulls_are_duplicates(self):
        inputs = [{"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2, "x": 1}, "a": 1, "c": None}, {"a": 2}]
        entries = [{"role": "user", "content": "task"}]
        for at, given in enumerate(inputs):
            entries.append({"role": "assistant", "content": "", "calls": [{"id": f"{at}", "name": "t", "args": given}]})
            entries.append({"role": "tool", "id": f"{at}", "name": "t", "content": "OUT"})
        gone = "[Output removed to save context - information superseded or no longer needed]"
        assert cleared(apply_once(openai_list(entries), "dcp-dedupe"), gone) == [True, False, False]

    def test_on_compress_waits_for_the_model_to_compress(self):
        entries = [*steps(1), *[{**entry, "id": "again"} if "id" in entry else entry for entry in steps(1)[1:]]]
        entries[3]["calls"] = [{**entries[3]["calls"][0], "id": "again"}]
        made = plan("dcp-dedupe", when="on-compress")
        assert compact(openai_list(entries), made) == openai_list(entries)
        compress = {"id": "z", "name": "compress", "args": {}}
        entries += [{"role": "assistant", "content": "", "calls": [compress]}]
        entries += [{"role": "tool", "id": "z", "name": "compress", "content": "ok"}]
        assert results_in(compact(openai_list(entries), made))[0].startswith("[Output removed")

    def test_questions_lose_their_questions_and_keep_the_answers(self):
        asked = {"questions": ["which?"], "other": 1}
        entries = [{"role": "user", "content": "task"}]
        for at in range(2):
            call = {"id": f"{at}", "name": "question", "args": asked}
            entries += [{"role": "assistant", "content": "", "calls": [call]}]
            entries += [{"role": "tool", "id": f"{at}", "name": "question", "content": "this"}]
        sent = apply_once(openai_list(entries), "dcp-dedupe")
        assert results_in(sent) == ["this", "this"]
        assert inputs_in(sent) == [{**asked, "questions": "[questions removed - see output for user's answers]"}, asked]

    def test_patterns_protect_tools_and_the_files_of_patches(self):
        patch = "*** Begin Patch\n*** Update File: docs/a.md\n"
        call = {"name": "apply_patch", "args": {"patchText": patch}}
        entries = [{"role": "user", "content": "task"}]
        for at in range(2):
            entries += [{"role": "assistant", "content": "", "calls": [{**call, "id": f"{at}"}]}]
            entries += [{"role": "tool", "id": f"{at}", "name": "apply_patch", "content": "ok"}]
        given = openai_list(entries)
        assert apply_once(given, "dcp-dedupe") != given
        assert apply_once(given, "dcp-dedupe:protected-files=**/*.md") == given
        assert apply_once(given, "dcp-dedupe:protected-tools=apply*") == given


class TestGemini:
    @pytest.mark.parametrize(("protect", "masked"), [(1_020, 3), (1_019, 4)])
    def test_the_result_with_which_the_protected_amount_is_passed_is_masked_too(self, protect, masked):
        """Five results of 510 estimated tokens each: nine for the name, thirteen around the text."""
        entries = [*steps(5, size=2_018), {"role": "user", "content": "n"}]
        sent = apply_once(openai_list(entries), plan("gemini-mask", protect=protect, minimum=0))
        assert [text.startswith("<tool_output_masked>") for text in results_in(sent)] == [
            at < masked for at in range(5)
        ]

    @pytest.mark.parametrize(("minimum", "masked"), [(1_020, 2), (1_021, 0)])
    def test_nothing_is_masked_unless_there_is_enough_of_it(self, minimum, masked):
        entries = [*steps(3, size=2_018), {"role": "user", "content": "n"}]
        sent = apply_once(openai_list(entries), plan("gemini-mask", protect=510, minimum=minimum))
        assert sum(text.startswith("<tool_output_masked>") for text in results_in(sent)) == masked

    def test_what_a_mask_would_not_shorten_stays_and_keeps_counting(self):
        """Twenty results of 15 tokens never shrink; with each one of 510 tokens that ages they come to the minimum."""
        entries = [*steps(20, size=38), *steps(4, size=2_018)[1:]]
        for at, entry in enumerate(entry for entry in entries if entry["role"] == "tool"):
            entry["id"] = f"n{at}"
        for at, entry in enumerate(entry for entry in entries if entry.get("calls")):
            entry["calls"] = [{**entry["calls"][0], "id": f"n{at}"}]
        for minimum, masked in ((810, 2), (1_320, 2), (1_321, 0)):
            sent = compact(openai_list(entries), plan("gemini-mask", protect=510, minimum=minimum))
            assert sum(text.startswith("<tool_output_masked>") for text in results_in(sent)) == masked

    def test_what_failed_is_previewed_as_an_error(self):
        entries = [*steps(2, size=4_000), {"role": "user", "content": "n"}]
        entries[2]["error"] = True
        sent = results_in(apply_once(openai_list(entries), plan("gemini-mask", protect=0, minimum=0)))
        assert sent[0].startswith('<tool_output_masked>\n{\n  "error": "aaa')
        assert sent[1].startswith('<tool_output_masked>\n{\n  "output": "bbb')

    def test_only_commands_and_mcp_tools_are_truncated_at_insertion_unless_all_are(self):
        for tool, changes in (("run_shell_command", True), ("mcp_files_read", True), ("read_file", False)):
            given = openai_list(single_result("x" * 50_000, tool=tool))
            assert (apply_once(given, "gemini-truncate") != given) == changes
            assert apply_once(given, "gemini-truncate:applies-to=all") != given


class TestCline:
    def test_all_but_the_newest_content_of_a_file_is_replaced_and_that_may_be_enough(self):
        entries = steps(4, size=4_000)
        for entry in entries:
            for call in entry.get("calls", ()):
                call["args"] = {"path": "same.py"}
        given = openai_list(entries)
        sent = apply_once(given, "cline-truncate", input_tokens=170_000)
        notices = [text.startswith("[[NOTE] This file read has been removed") for text in results_in(sent)]
        assert notices == [True, True, True, False]
        assert len(sent) == len(given)

    def test_its_own_messages_are_understood(self):
        def read(path, text):
            parts = [f"[read_file for '{path}'] Result:", text, "environment"]
            return {"role": "user", "content": [{"type": "text", "text": part} for part in parts]}

        edited = '<final_file_content path="a.py">\nnew\n</final_file_content>'
        edit = [{"type": "text", "text": "[replace_in_file for 'a.py'] Result:"}, {"type": "text", "text": edited}]
        mention = f'<file_content path="a.py">{"m" * 3_000}</file_content> and <file_content path="b">b</file_content>'
        said = [{"type": "text", "text": "look"}, {"type": "text", "text": mention}]
        answer = {"role": "assistant", "content": "ok"}
        given = [{"role": "user", "content": "task"}, answer]
        for message in (
            read("a.py", "x" * 3_000),
            {"role": "user", "content": edit},
            {"role": "user", "content": said},
        ):
            given += [message, answer]
        given += [read("a.py", "last"), answer]
        sent = apply_once(given, "cline-truncate:enough=0", input_tokens=170_000)
        notice = "[[NOTE] This file read has been removed"
        assert sent[2]["content"][1]["text"].startswith(notice)
        assert sent[2]["content"][2]["text"] == "environment"
        assert sent[4]["content"][1]["text"].startswith(f'<final_file_content path="a.py"> {notice}')
        assert sent[4]["content"][1]["text"].endswith("] </final_file_content>")
        assert sent[6]["content"][1]["text"].startswith(f'<file_content path="a.py">{notice}')
        assert sent[6]["content"][1]["text"].endswith(' and <file_content path="b">b</file_content>')
        assert sent[8] is given[8]

    def test_a_request_twice_too_large_keeps_a_quarter(self):
        messages = [{"role": "assistant" if at % 2 else "user", "content": f"{at}"} for at in range(34)]
        half = apply_once(messages, "cline-truncate:window=128000", input_tokens=98_000)
        quarter = apply_once(messages, "cline-truncate:window=128000", input_tokens=197_000)
        assert (len(half), len(quarter)) == (34 - 16, 34 - 24)
        assert apply_once(messages, "cline-truncate:window=128000", input_tokens=97_000) == messages


class TestCodex:
    def test_results_of_commands_are_announced_and_others_get_a_fifth_more(self):
        text = "x" * 100
        for tool, budget in (("shell", 10), ("read_file", 12)):
            (sent,) = results_in(apply_once(openai_list(single_result(text, tool=tool)), "codex-truncate:budget=10"))
            kept = "x" * (budget * 2)
            body = f"{kept}…{(100 - budget * 4 + 3) // 4} tokens truncated…{kept}"
            warning = "Warning: truncated output (original token count: 25)\nTotal output lines: 1\n\n"
            assert sent == (warning if tool == "shell" else "") + body


def test_inputs_that_are_no_objects_stay_as_they_are():
    for arguments in ("not json", "[1]", '"text"', "null", ""):
        entries = openai_list(steps(3))
        for message in entries:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = arguments
        for message in entries:
            if message["role"] == "tool":
                message["is_error"] = True
        sent = apply_once(entries, "dcp-purge-errors:turns=1")
        assert sent == entries
        json.dumps(sent)
