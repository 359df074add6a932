"""What newer versions of a system do that the version described first does not."""

import json

from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.message_lists import apply_once
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

    def test_of_a_closed_line_that_is_too_long_its_end_is_kept_and_its_size_is_said_to_be_nothing(self):
        limits = {"max_lines": 10, "max_bytes": 3}
        sent = only_result("abcdef\n", "pi-truncate", version="1.5", **limits)
        assert sent == "def\n\n[Showing last 3B of line 1 (line is 0B). Full output: /tmp/pi-bash-call_1.log]"
        sent = only_result("abcdef", "pi-truncate", version="1.5", **limits)
        assert sent == "def\n\n[Showing last 3B of line 1 (line is 6B). Full output: /tmp/pi-bash-call_1.log]"

    def test_a_file_s_lines_are_counted_as_before_in_what_is_said_of_it(self):
        """The file has an empty line after its last line end; what is cut is counted without it."""
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
    """`findCutIndex` of @cline/core 0.0.86 for messages with texts and single calls, worked out from its source."""

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
