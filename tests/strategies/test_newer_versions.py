"""Differences of newer versions of a system from the version described first."""

import json

from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.hook.compiled import cuts_of
from inspector.replay.message_lists import apply_once
from inspector.strategies.library.hermes import HermesPrepass, lean_tail, threshold_for
from inspector.strategies.library.hermes_tail import line_for
from inspector.strategies.registry import strategy
from tests.examples import examples
from tests.strategies.conversations import Sent, session_of
from tests.strategies.plain_lists import openai_list, results_in, single_result
from tests.strategies.recorded import plan_of

SUMMARY = "The conversation history before this point was compacted into the following summary:"


def only_result(text, name, *, tool="bash", **values):
    (sent,) = results_in(apply_once(openai_list(single_result(text, tool=tool)), plan_of(name, **values)))
    return sent


class TestPiTruncate:
    """@earendil-works/pi-coding-agent since 0.75.5, `core/tools/truncate.js` and `output-accumulator.js`."""

    def test_as_many_closed_lines_as_the_limit_are_whole_since_0_75(self):
        text = "a\nb\n"
        limits = {"max_lines": 2, "max_bytes": 100}
        assert (
            only_result(text, "pi-truncate", **limits)
            == "b\n\n\n[Showing lines 2-3 of 3. Full output: /tmp/pi-bash-call_1.log]"
        )
        assert only_result(text, "pi-truncate", version="1.5", **limits) == text

    def test_a_cut_output_loses_its_last_line_end(self):
        sent = only_result("a\nb\nc\n", "pi-truncate", version="1.5", max_lines=2, max_bytes=100)
        assert sent == "b\nc\n\n[Showing lines 2-3 of 3. Full output: /tmp/pi-bash-call_1.log]"

    def test_of_a_closed_line_that_is_too_long_its_end_is_kept_and_its_size_is_shown_to_be_nothing(self):
        limits = {"max_lines": 10, "max_bytes": 3}
        sent = only_result("abcdef\n", "pi-truncate", version="1.5", **limits)
        assert sent == "def\n\n[Showing last 3B of line 1 (line is 0B). Full output: /tmp/pi-bash-call_1.log]"
        sent = only_result("abcdef", "pi-truncate", version="1.5", **limits)
        assert sent == "def\n\n[Showing last 3B of line 1 (line is 6B). Full output: /tmp/pi-bash-call_1.log]"

    def test_a_file_s_lines_are_counted_as_before_in_what_is_stated_of_it(self):
        sent = only_result("a\nb\nc\n", "pi-truncate", tool="read", version="1.5", max_lines=2, max_bytes=100)
        assert sent == "a\nb\n\n[Showing lines 1-2 of 4. Use offset=3 to continue.]"
        whole = only_result("a\nb\n", "pi-truncate", tool="read", version="1.5", max_lines=2, max_bytes=100)
        assert whole == "a\nb\n"


def in_one_run(*sizes):
    """One question and, after each call of a tool, a result of so many characters."""
    entries = [{"role": "user", "content": "q" * 400}]
    for at, length in enumerate(sizes):
        call = {"id": f"c{at}", "name": "bash", "args": {}}
        entries.append({"role": "assistant", "content": "w" * 40, "calls": [call]})
        entries.append({"role": "tool", "id": f"c{at}", "name": "bash", "content": chr(97 + at) * length})
    return [*entries, {"role": "assistant", "content": "done"}]


class TestPiCompaction:
    """@earendil-works/pi-coding-agent since 0.84.4 and 0.86.0, `core/agent-session.js`, `core/compaction`."""

    def test_a_run_is_compacted_between_its_calls_where_its_results_leave_too_little(self):
        """The third result, of 400 tokens, leaves less than 100 of the window of 1,000; none of it overflows."""
        session = session_of(in_one_run(1_000, 1_000, 1_600))
        limits = {"reserve": 100, "keep": 300, "window": 1_100}
        compacted = {
            version: [
                any(text.startswith(SUMMARY) for text in Sent(session, made).changed(call).values())
                for call in range(5)
            ]
            for version in ("0.73", "1.5")
            for made in [strategy("pi-compaction", version=version, **limits)]
        }
        assert compacted["0.73"] == [False] * 5
        assert compacted["1.5"] == [False, False, False, True, True]

    def test_where_the_newest_result_alone_is_kept_the_cut_falls_on_its_call(self):
        messages = openai_list(in_one_run(400, 400, 4_000))[:-1]
        limits = {"keep": 500, "window": 1_000, "reserve": 100}
        before = apply_once(messages, plan_of("pi-compaction", **limits), input_tokens=1_000, window=1_000)
        assert before == messages
        newer = plan_of("pi-compaction", version="1.5", **limits)
        sent = apply_once(messages, newer, input_tokens=1_000, window=1_000)
        assert sent[0]["content"].startswith(SUMMARY)
        assert sent[1:] == messages[-2:]


def cut_of(entries, keep):
    def size(entry):
        if entry["role"] == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": entry["id"], "content": entry["content"]}]
        else:
            blocks = [{"type": "text", "text": entry["content"]}]
        blocks += [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}
            for call in entry.get("calls", ())
        ]
        role = "assistant" if entry["role"] == "assistant" else "user"
        written = json.dumps({"role": role, "content": blocks}, separators=(",", ":"))
        return -(-len(written) // 3)

    total, candidate = 0, len(entries)
    for at in range(len(entries) - 1, -1, -1):
        total += size(entries[at])
        candidate = at
        if total >= keep:
            break
    questions = [at for at, entry in enumerate(entries) if entry["role"] == "user"]
    cut = min(candidate, questions[-1]) if candidate and questions[-1] else candidate
    while cut > 0 and entries[cut]["role"] == "tool":
        cut -= 1
    return cut


@some.composite
def tasks(draw):
    entries = []
    for run in range(draw(some.integers(1, 3))):
        entries.append({"role": "user", "content": "q" * draw(some.integers(1, 90))})
        for step in range(draw(some.integers(0, 4))):
            call = {"id": f"c{run}{step}", "name": "bash", "args": {"command": "x" * draw(some.integers(0, 30))}}
            entries.append({"role": "assistant", "content": "w" * draw(some.integers(1, 60)), "calls": [call]})
            text = "r" * draw(some.integers(0, 300))
            entries.append({"role": "tool", "id": call["id"], "name": "bash", "content": text})
        entries.append({"role": "assistant", "content": "done"})
    return entries[: draw(some.integers(1, len(entries)))]


class TestClineCompaction:
    """@cline/core 0.0.86, `extensions/context/agentic-compaction.ts` and `compaction-shared.ts`."""

    @given(tasks(), some.integers(1, 400))
    @settings(max_examples=examples(100))
    def test_all_before_the_cut_becomes_one_message_of_the_user(self, entries, keep):
        given_list = openai_list(entries)
        plan = plan_of("cline-compaction", keep=keep, summary_tokens=50)
        sent = apply_once(given_list, plan, input_tokens=200_000, window=200_000)
        cut = cut_of(entries, keep)
        assert sent[1:] == given_list[cut:] if cut else sent == given_list
        if cut:
            opening = (
                f"Context summary:\n\nA model's summary of {cut} messages, taken to be 50 tokens long, stands here."
            )
            assert sent[0] == {"role": "user", "content": opening + " summary" * 26}

    def test_it_compacts_from_nine_tenths_of_nine_tenths_of_the_window_on(self):
        given_list = openai_list(in_one_run(400, 400, 400))[:-1]
        plan = plan_of("cline-compaction", keep=50)
        for tokens, compacts in ((161_999, False), (162_000, True)):
            sent = apply_once(given_list, plan, input_tokens=tokens, window=200_000)
            assert (sent != given_list) == compacts

    def test_characters_count_a_third_of_a_token_each_where_that_is_more_than_the_prompt_measures(self):
        given_list = openai_list(in_one_run(400, 400, 2_000))[:-1]
        plan = plan_of("cline-compaction", keep=50)
        sent = apply_once(given_list, plan, input_tokens=1, window=1_600)
        assert sent[0]["content"].startswith("Context summary:")
        assert apply_once(given_list, plan, input_tokens=1, window=1_900) == given_list

    def test_what_stays_comes_to_no_more_than_half_of_what_the_model_may_be_sent(self):
        """Five answers: half of 0.9 of the window of 2,000 is 900, less than the 20,000 that stay at most."""
        entries = in_one_run(*[600] * 10)[:-1]
        sent = apply_once(openai_list(entries), plan_of("cline-compaction"), input_tokens=2_000, window=2_000)
        assert sent[1:] == openai_list(entries)[cut_of(entries, 900) :]
        assert cut_of(entries, 900) > 1


def batches(*sizes, tool="terminal"):
    """One call of a tool with a result of so many characters after another, each text its own."""
    entries = [{"role": "user", "content": "q"}]
    for at, length in enumerate(sizes):
        call = {"id": f"c{at}", "name": tool, "args": {"command": f"x{at}"}}
        entries.append({"role": "assistant", "content": "", "calls": [call]})
        text = f"{at:03}" + chr(97 + at % 26) * (length - 3)
        entries.append({"role": "tool", "id": f"c{at}", "name": tool, "content": text})
    return entries


def which_pruned(entries, **values):
    plan = plan_of("hermes-prepass", version="0.21", **values)
    sent = results_in(apply_once(openai_list(entries), plan, input_tokens=180_000, window=200_000))
    texts = [entry["content"] for entry in entries if entry["role"] == "tool"]
    assert all(
        after == before or after.startswith("[terminal] ran `x") for before, after in zip(texts, sent, strict=True)
    )
    return [at for at, (before, after) in enumerate(zip(texts, sent, strict=True)) if before != after]


class TestHermes:
    """hermes-agent `agent/context_compressor.py` after 26 August 2026."""

    def test_what_is_spared_of_the_newest_messages_is_a_fortieth_of_the_window_within_bounds(self):
        windows = (2_000_000, 800_000, 400_000, 200_000, 40_000)
        assert [lean_tail(window) for window in windows] == [25_000, 20_000, 10_000, 10_000, 10_000]

    def test_the_least_threshold_is_at_most_0_85_of_a_window(self):
        assert [threshold_for(window, 0.5) for window in (70_000, 90_000)] == [64_000, 67_500]
        assert [threshold_for(window, 0.5, newer=True) for window in (70_000, 90_000)] == [59_500, 67_500]

    def test_at_least_eight_messages_are_spared_not_as_many_as_are_to_be(self):
        """A result is 410 tokens, its call 35: eight messages are 1,780; the one that passes 2,000 is spared too."""
        entries = batches(*[1_600] * 12)
        assert which_pruned(entries, tail_tokens=2_000) == [0, 1, 2, 3, 4, 5, 6]
        old = plan_of("hermes-prepass", tail_tokens=2_000)
        sent = results_in(apply_once(openai_list(entries), old, input_tokens=180_000, window=200_000))
        assert [text.startswith("[terminal]") for text in sent] == [True] * 2 + [False] * 10

    def test_under_pressure_the_oldest_of_what_is_spared_goes_until_it_fits(self):
        assert which_pruned(batches(*[1_600] * 12), tail_tokens=900) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

    def test_where_that_is_not_enough_all_but_the_newest_result_go_and_then_that(self):
        """Three lines of four results leave more than 1.5 times 411 tokens, and no more than 1.5 times 412."""
        assert which_pruned(batches(*[1_600] * 12), tail_tokens=412) == list(range(11))
        assert which_pruned(batches(*[1_600] * 12), tail_tokens=411) == list(range(12))

    def test_a_result_that_is_a_line_itself_is_not_pruned_to_another(self):
        line = "[terminal] ran `" + "x" * 250 + "` (1,000 chars)"
        entries = batches(*[1_000] * 12)
        entries[2]["content"] = line
        plans = [plan_of("hermes-prepass", version=version) for version in ("0.19", "0.21")]
        limits = {"input_tokens": 180_000, "window": 200_000}
        old, new = (results_in(apply_once(openai_list(entries), plan, **limits)) for plan in plans)
        assert new[0] == line
        assert old[0] == line
        plans = [plan_of("hermes-prepass", version=version, tail=0.0) for version in ("0.19", "0.21")]
        old, new = (results_in(apply_once(openai_list(entries), plan, **limits)) for plan in plans)
        assert old[0] == "[terminal] ran `x0` -> exit ?, 1 lines output"
        assert new[0] == line

    def test_lines_say_what_was_answered_and_how_a_skill_is_loaded_again(self):
        said = {
            ("clarify", "{}", json.dumps({"user_response": "yes, both"})): '[clarify] user responded: "yes, both"',
            ("clarify", "{}", json.dumps({"user_response": ["a", "é"]})): '[clarify] user responded: ["a", "é"]',
            (
                "clarify",
                "{}",
                json.dumps({"user_response": "[user did not respond]"}),
            ): "[clarify] asked user a question",
            ("clarify", "{}", json.dumps({"user_response": "w" * 300})): (
                '[clarify] user responded: "' + "w" * 158 + "...[truncated]"
            ),
            ("skill_view", '{"name": "pdf"}', "s" * 5_000): "[skill_view] name=pdf (5,000 chars)",
            ("skill_view", '{"name": "pdf"}', "s" * 5_001): (
                "[skill_view] name=pdf (5,001 chars) [SKILL_PRUNED: content lost in compression; reload with "
                "skill_view(name='pdf')]"
            ),
            ("todo_list", "{}", "x" * 300): "[todo] updated task list",
            ("cronjob_manage", '{"action": "add"}', "x" * 300): "[cronjob] add",
            ("process_manage", '{"action": "poll", "session_id": "p1"}', "x" * 300): "[process] poll session=p1",
            ("todo", "{}", "x" * 300): "[todo] (300 chars result)",
        }
        assert {given: line_for(*given, newer=True) for given in said} == said
        assert max(len(line) for (tool, *_), line in said.items() if tool == "clarify") == 199

    def test_a_skill_stays_where_it_was_just_loaded_or_the_user_names_it(self):
        entries = batches(*[1_000] * 12)
        skills = [("PDF", 1), ("web", 3)]
        for name, at in skills:
            entries[at]["calls"][0].update(name="skill_view", args={"name": name})
            entries[at + 1]["name"] = "skill_view"
        entries.append({"role": "user", "content": "Use the pdf skill again"})
        plan = plan_of("hermes-prepass", version="0.21", protect_last=4, tail=0.0)
        sent = results_in(apply_once(openai_list(entries), plan, input_tokens=180_000, window=200_000))
        assert sent[0] == entries[2]["content"]
        assert sent[1] == "[skill_view] name=web (1,000 chars)"

    def test_five_minutes_after_it_gave_up_a_pass_is_made_again(self):
        entries = batches(*[1_000] * 14)
        for number, at in enumerate(range(1, len(entries), 2)):
            entries[at]["time"] = 100.0 * number
        passes = {}
        for version in ("0.19", "0.21"):
            made = HermesPrepass(window=100_000, protect_last=2, protect_first=0, tail=0.0, version=version)
            sent = Sent(session_of(entries), made, measured=dict.fromkeys(range(20), 90_000))
            counts = [len(sent.changed(call)) for call in range(15)]
            passes[version] = [call for call in range(1, 15) if counts[call] != counts[call - 1]]
        # 0.19's pass at call 1 finds nothing old; 0.21 makes none of so few messages. At call 4 that gives up; at call
        # 7 five minutes are over, and so again.
        assert passes == {"0.19": [2], "0.21": [2, 3, 7, 11]}

    def test_results_of_mcp_servers_are_stored_sooner(self):
        """`tools/budget_config.py`: 50,000 characters, less where the window is small."""
        for tool, length, is_stored in (
            ("mcp__docs__search", 50_000, False),
            ("mcp__docs__search", 50_001, True),
            ("terminal", 100_000, False),
            ("terminal", 100_001, True),
        ):
            sent = only_result("x" * length, "store-large", tool=tool, mcp_limit=50_000)
            assert (sent != "x" * length) == is_stored
        stored = only_result("x" * 50_001, "store-large", tool="mcp_a", mcp_limit=50_000)
        assert stored == (
            "<persisted-output>\nThis tool result was too large (50,001 characters, 48.8 KB).\n"
            "Full output saved to: /tmp/hermes-results/call_1.txt\n"
            "Use the read_file tool with offset and limit to access specific sections of this output.\n\n"
            f"Preview (first 1500 chars):\n{'x' * 1_500}\n...\n</persisted-output>"
        )
        limits = [cuts_of(plan_of("store-large", mcp_limit=50_000), tool)[0]["limit"] for tool in ("mcp_a", "terminal")]
        assert limits == [50_000, 100_000]
        small = cuts_of(plan_of("store-large", mcp_limit=50_000, window=20_000), "mcp_a")[0]["limit"]
        assert small == 12_000
