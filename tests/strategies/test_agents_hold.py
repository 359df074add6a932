"""Agent strategies on unexpected texts, at insertion, and on long sessions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.replay.message_lists import apply_once, compact
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy
from tests.examples import examples
from tests.strategies.odd_lists import assert_holds_odd_texts, lists
from tests.strategies.plain_lists import results_in
from tests.strategies.work import work

EAGER = (
    strategy("anthropic-clear-tool-uses", trigger=0, keep=1, clear_tool_inputs=True),
    strategy("anthropic-clear-thinking"),
    strategy("langchain-clear-tool-uses", trigger=0, keep=1, clear_tool_inputs=True, clear_at_least=1),
    strategy("langchain-summarization", trigger_messages=4, keep_messages=2, summary_tokens=50),
    strategy("langchain-summarization", trigger_tokens=10, keep_tokens=5, summary_tokens=50),
    strategy("deepagents-evict", limit=1, message_limit=1, head=1, tail=1),
    strategy("opencode-prune", protect=0, minimum=0, turns=0),
    strategy("opencode-truncate", max_lines=1, max_bytes=3),
    strategy("opencode-truncate", max_lines=2, max_bytes=5, direction="tail"),
    strategy("dcp-dedupe", protected_tools=("w*",), protected_files=("**/x", "?")),
    strategy("dcp-purge-errors", turns=1, protected_tools=("[",)),
    strategy("codex-truncate", budget=1),
    strategy("codex-truncate", budget=3, unit="bytes", announced="all"),
    strategy("gemini-mask", protect=0, minimum=0, shell_tools=("bash",)),
    strategy("gemini-truncate", limit=1, applies_to="all"),
    strategy("gemini-compress", window=1, result_budget=0, limit=1, summary_tokens=50),
    strategy("cline-truncate", window=1),
    strategy("cline-compaction", window=30, keep=5, summary_tokens=50),
    strategy("cline-compaction", window=30, variant="basic"),
    strategy("roo-truncate", window=1, reserved=0),
)
AT_INSERTION = [
    each
    for each in EAGER
    if each.name in {"deepagents-evict", "opencode-truncate", "codex-truncate", "gemini-truncate"}
]


@pytest.mark.parametrize("made", EAGER, ids=lambda made: made.name)
@given(lists())
@settings(max_examples=examples(16))
def test_no_text_is_too_odd(made, messages):
    assert_holds_odd_texts(made, messages)


@pytest.mark.parametrize("made", AT_INSERTION, ids=lambda made: made.name)
@given(lists(), some.data())
@settings(max_examples=examples(10))
def test_what_was_sent_once_is_sent_again_the_same(made, messages, data):
    length = data.draw(some.integers(1, len(messages)))
    now, later = compact(messages[:length], Plan.of(made)), compact(messages, Plan.of(made))
    assert later[: len(now)] == now


@pytest.mark.parametrize("made", AT_INSERTION, ids=lambda made: made.name)
@given(lists())
@settings(max_examples=examples(10))
def test_results_shortened_at_insertion_are_shortened_whenever_they_are_looked_at(made, messages):
    assert compact(messages, Plan.of(made)) == apply_once(messages, Plan.of(made))


BUSY = (
    # Cline without a model stacks a notice behind the newest question at every call that does not fit.
    *(each for each in EAGER if each.name != "opencode-prune" and getattr(each, "variant", "") != "basic"),
    strategy("anthropic-clear-tool-uses", trigger=2_000, clear_at_least=500),
    strategy("anthropic-clear-tool-uses", trigger=0, keep=2, sticky=False, clear_at_least=1_000_000),
    strategy("langchain-clear-tool-uses", trigger=1_000_000),
    strategy("langchain-summarization", trigger_tokens=5_000, keep_messages=10),
    strategy("langchain-summarization", trigger_tokens=1, keep_messages=100_000),
    strategy("opencode-prune", protect=1_000_000),
    strategy("gemini-mask", protect=2_000, minimum=1_000),
    strategy("gemini-mask", protect=100, minimum=1_000_000),
    strategy("gemini-compress", window=5_000),
    strategy("cline-truncate", window=5_000),
    strategy("cline-compaction", window=8_000, keep=2_000),
    strategy("cline-compaction", window=1_000, variant="basic"),
    strategy("roo-truncate", window=5_000, reserved=100),
)


@pytest.mark.parametrize("made", BUSY, ids=lambda made: made.name)
def test_twice_the_session_is_about_twice_the_work(made):
    work(made, 10)
    once, twice, four_times = (work(made, count) for count in (40, 80, 160))
    assert four_times - twice < 2.5 * max(twice - once, 500)


def test_a_text_of_megabytes_is_shortened_in_one_piece():
    line = "0123456789abcdef" * 4 + "é\n"
    given_list = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "", "tool_calls": [_call("bash")]},
        {"role": "tool", "tool_call_id": "c", "content": line * 40_000},
    ]
    for made in AT_INSERTION:
        (sent,) = results_in(apply_once(given_list, Plan.of(strategy(made.name))))
        assert len(sent) < 60_000


def _call(name):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
