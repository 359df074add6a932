"""Invariants of every strategy."""

from dataclasses import replace
from inspect import Signature, signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from inspector.session.model import BlockKind, Call, Context, ContextCause
from inspector.strategies.core.operations import Action
from inspector.strategies.core.strategy import ScheduledStrategy, SequentialStrategy, in_use
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.registry import STRATEGIES, strategy
from tests.examples import examples
from tests.strategies.conversations import Sent, session_of

# Small limits, so that small conversations set everything off.
EAGER = (
    strategy("tiered-stale", confirmation=3, action=5, data=7, search=9, default=11),
    strategy("tiered-stale", variant="shipped", default=4, snapshots="strip"),
    strategy("tiered-stale", tool_set="coding", lists=True, never_longer=True, data=1, marker="~"),
    strategy("tiered-stale", unit="tokens", default=2, data=3, never_longer=True, marker="~"),
    strategy("token-budget", budget=60, keep=10),
    strategy("token-budget", budget=60, keep=3, unit="tokens"),
    strategy("smart-retention", output_limit=9, output_keep=2, unit="tokens"),
    strategy("trim-at-insertion", threshold=6, head=2, tail=1, cap=12, unit="tokens"),
    strategy("prune-old", keep_turns=1, from_iteration=1, threshold=5, head=1, tail=1, clear_above=60, unit="tokens"),
    strategy("truncate-after-use", keep=3, unit="tokens"),
    strategy("cap-at-insertion", limit=7, unit="tokens"),
    strategy("smart-retention", max_reads=3, output_limit=40, output_keep=5, light_keep=2),
    strategy("smart-retention", max_reads=2, output_limit=40, variant="shipped"),
    strategy("clear-old", keep=2),
    strategy("clear-old", keep=2, merge_texts=True),
    strategy("clear-old", keep=1, variant="shipped", frames=5),
    strategy("trim-at-insertion", threshold=20, head=8, tail=4, cap=50),
    strategy("trim-at-insertion", per_tool=True, read_threshold=10, read_head=2, read_tail=2, shell_threshold=30),
    strategy(
        "trim-at-insertion", threshold=2_000, head=700, tail=400, adaptive="window", window=1_500, adaptive_least=5
    ),
    strategy(
        "trim-at-insertion", threshold=2_000, adaptive="remaining", adaptive_share=0.1, window=900, adaptive_least=9
    ),
    strategy("prune-old", keep_turns=1, from_iteration=1, threshold=20, head=5, tail=5, clear_above=200),
    strategy("prune-old", keep_turns=1, from_iteration=2, threshold=20, clear_above=100, variant="projection"),
    strategy("truncate-after-use", keep=10),
    strategy("smart-diff-compression", changes=1, line="", marker="~"),
    strategy("smart-diff-compression", changes=2, line="{what} {recall}", marker="~"),
    strategy("keep-recent", keep=2),
    strategy("dedupe-reads"),
    strategy("cap-at-insertion", limit=30),
    strategy("store-large", limit=40, batch_budget=60, preview=10),
    strategy("store-large", limit=90, batch_budget=60, preview=10, mcp_limit=20),
    strategy("summarize", threshold=1_000, tail=2, summary_tokens=50),
    strategy("anthropic-clear-tool-uses", trigger=60, keep=1, clear_at_least=5, clear_tool_inputs=True),
    strategy("anthropic-clear-tool-uses", trigger=3, trigger_type="tool-uses", keep=2, sticky=False),
    strategy("anthropic-clear-thinking"),
    strategy("anthropic-compact", trigger=60, summary_tokens=50),
    strategy("anthropic-compact", trigger=60, keep_messages=3, summary_tokens=50),
    strategy("langchain-clear-tool-uses", trigger=60, keep=1, clear_tool_inputs=True),
    strategy("langchain-clear-tool-uses", trigger=60, keep=0, clear_at_least=30, exclude_tools=("bash",)),
    strategy("langchain-summarization", trigger_messages=7, keep_messages=3, summary_tokens=50),
    strategy("langchain-summarization", trigger_tokens=150, keep_tokens=60, scaled=False, summary_tokens=50),
    strategy("deepagents-evict", limit=10, message_limit=2, head=2, tail=2),
    strategy("opencode-prune", protect=10, minimum=5, turns=1),
    strategy("opencode-truncate", max_lines=4, max_bytes=50),
    strategy("opencode-truncate", max_lines=4, max_bytes=50, direction="tail"),
    strategy("dcp-dedupe"),
    strategy("dcp-purge-errors", turns=1),
    strategy("codex-truncate", budget=8),
    strategy("codex-truncate", budget=30, unit="bytes", announced="all"),
    strategy("gemini-mask", protect=20, minimum=10, shell_tools=("bash",)),
    strategy("gemini-truncate", limit=30),
    strategy("gemini-compress", window=100, result_budget=10, limit=30, summary_tokens=50),
    strategy("cline-truncate", window=100, enough=0.9),
    strategy("cline-compaction", window=200, keep=60, summary_tokens=50),
    strategy("cline-compaction", window=200, variant="basic"),
    strategy("roo-truncate", window=200, reserved=20),
    strategy("last-observations", keep=1, polling=2, keep_tools=("ls",), remove_tools=("search_web",)),
    strategy("closed-windows", results=True),
    strategy("remove-regex", pattern="[a-f]+", keep_last=2),
    strategy(
        "deepagents-truncate-arguments",
        trigger_messages=3,
        keep_fraction=0.0,
        keep_messages=2,
        max_length=5,
        tools=("bash", "ls"),
    ),
    strategy("deepagents-truncate-arguments", window=200, max_length=3, tools=("search_web", "bash")),
    strategy("mask-observations", window=3),
    strategy("mask-browser-output", tools=("bash", "search_web")),
    strategy("recent-events", keep_first=1, max_events=5),
    strategy("amortized-forgetting", max_size=6, keep_first=1),
    strategy("openhands-condenser", max_size=6, keep_first=1, summary_tokens=50),
    strategy("openhands-condenser", max_size=1_000, max_tokens=60, summary_tokens=50),
    strategy("headroom-stale-reads", superseded=True, minimum=9, frozen_messages=2),
    strategy("cozempic-trim", max_bytes=60, max_lines=4),
    strategy("cozempic-age", middle=1, old=2),
    strategy("cozempic-stale-reads", limit=5),
    strategy("pi-truncate", max_lines=3, max_bytes=40),
    strategy("pi-truncate", max_lines=3, max_bytes=40, version="1.5"),
    strategy("maf-tool-results", keep=0),
    strategy("maf-tool-results", keep=2),
    strategy("maf-tool-calls", keep=1),
    strategy("maf-window", keep=2),
    strategy("maf-truncation", limit=4, target=2, keep_first_user=True),
    strategy("maf-truncation", unit="tokens", limit=300, target=100),
    strategy("maf-context-window", window=400, max_output=0, keep=1),
    strategy("haystack-prune", window=60, minimum=0, placeholder="-"),
    strategy("haystack-prune", window=60, compact_at=0.3, compact_to=0.1, minimum=3, keep_steps=2),
    strategy("adk-filter", keep=1),
    strategy("adk-filter", keep=1, remove_amount=2),
    strategy("vercel-prune"),
    strategy("vercel-prune", tool_calls="before-last-messages", messages=3, tools=("bash", "ls"), reasoning="none"),
    strategy("vercel-prune", tool_calls="all", reasoning="before-last-message", empty_messages="keep"),
    strategy("strands-window", window_size=3, per_turn=2),
    strategy("strands-window", window_size=4, pin_first=1, window=60),
    strategy("strands-offload", threshold=5, preview_tokens=4),
    strategy("hermes-prepass", threshold=0.0, window=10, tail=0.0, protect_last=2, minimum=20),
    strategy("hermes-prepass", threshold=0.0, window=10, tail_tokens=40, protect_last=1, minimum=20),
    strategy("hermes-prepass", threshold=0.0, window=10, tail_tokens=40, protect_last=1, minimum=20, version="0.21"),
    strategy("hermes-prepass", threshold=0.0, window=200, tail_tokens=40, protect_last=1, minimum=20, version="0.22"),
    strategy("hermes-proactive-prune", trigger=30, minimum=20, reclaim=1, protect_last=2, protect_first=0),
    strategy(
        "hermes-proactive-prune", trigger=30, minimum=20, reclaim=1, protect_last=2, protect_first=0, version="0.22"
    ),
    strategy("openclaw-prune", keep_assistants=1, threshold=20, head=5, tail=5, minimum=10, window=50),
    strategy("openclaw-prune", keep_assistants=1, threshold=9, head=1, tail=1, window=20, variant="sticky"),
    strategy("openclaw-prune", keep_assistants=1, threshold=9, head=1, tail=1, window=20, variant="2026.9"),
    strategy("pi-compaction", reserve=0, keep=20, window=80, summary_tokens=50),
    strategy("pi-compaction", reserve=0, keep=20, window=80, summary_tokens=50, version="1.5"),
)
_INSERTED = {"trim-at-insertion", "cap-at-insertion", "store-large"}
_INSERTED |= {"pi-truncate", "strands-offload", "cozempic-trim"}
_INSERTED |= {"deepagents-evict", "opencode-truncate", "codex-truncate", "gemini-truncate"}
AT_INSERTION = tuple(each for each in EAGER if each.name in _INSERTED)
TEXTS_TOO = {"clear-old", "summarize", "tiered-stale", "closed-windows", "remove-regex"}
TEXTS_TOO |= {"recent-events", "amortized-forgetting", "openhands-condenser", "pi-compaction"}
TEXTS_TOO |= {"strands-window", "adk-filter"}
TEXTS_TOO |= {"maf-tool-results", "maf-tool-calls", "maf-window", "maf-truncation", "maf-context-window"}
TEXTS_TOO |= {"gemini-compress", "langchain-summarization", "deepagents-evict", "cline-truncate", "roo-truncate"}
TEXTS_TOO |= {"anthropic-compact", "cline-compaction"}
PARTS_PAIRS = {"clear-old", "cline-truncate", "roo-truncate"}
"""Remove results without their calls, as the systems they come from do."""
REMEMBERS = {"clear-old", "truncate-after-use", "amortized-forgetting"}
TOOLS = ("read_file", "bash", "ls", "edit_file", "store_memory", "frobnicate", "search_web")


def for_every(strategies):
    """Run a test of a strategy for each of these in turn, on the same drawn values: drawing takes most of the time."""

    def looped(test):
        def of_each(*drawn, **named):
            for made in strategies:
                try:
                    test(made, *drawn, **named)
                except Exception as error:
                    error.add_note(f"strategy: {made}")
                    raise

        of_each.__name__, of_each.__module__ = test.__name__, test.__module__
        _, *others = signature(test).parameters.values()
        of_each.__signature__ = Signature(others)
        return of_each

    return looped


@some.composite
def conversations(draw, *, longest=14):
    """Turns of single and parallel calls, text, questions; sizes around the limits above."""
    entries = [
        {"role": "user", "content": draw(some.sampled_from(["task", "[Live State]\nx\n[End Live State]\n\ngo"]))}
    ]
    number = 0
    for _ in range(draw(some.integers(0, longest))):
        if draw(some.integers(0, 5)) == 0:
            entries += [{"role": "assistant", "content": "done"}, {"role": "user", "content": "[Update] and now?"}]
            continue
        calls, results = [], []
        for _ in range(draw(some.integers(1, 3))):
            tool, path = draw(some.sampled_from(TOOLS)), draw(some.sampled_from("ab"))
            identifier = f"t{number}"
            number += 1
            calls.append({"id": identifier, "name": tool, "args": {"path": path}})
            size = draw(some.integers(0, 120))
            text = (chr(97 + number % 26) * 9 + "\n") * (size // 10) + "z" * (size % 10)
            plain = draw(some.integers(0, 4)) > 0
            results.append({"role": "tool", "id": identifier, "name": tool, "content": text, "plain": plain})
        entries.append({"role": "assistant", "content": draw(some.sampled_from(["", "go"])), "calls": calls})
        entries += results
    return entries


def is_gone(rendition):
    return rendition.action is Action.REMOVED or rendition.kind is not None


def states(sent, up_to):
    """Every block's rendition at every call before `up_to`."""
    return [
        {int(index): sent.rendition(int(index), call) for index in sent.history.prompt(call)} for call in range(up_to)
    ]


def test_every_strategy_is_tried_here():
    assert {each.name for each in EAGER} == set(STRATEGIES)


@given(conversations(), some.booleans(), some.data())
@settings(max_examples=examples(10))
@for_every(EAGER)
def test_what_was_sent_does_not_depend_on_what_came_later(made, entries, grouped, data):
    whole = session_of(entries, grouped=grouped)
    length = data.draw(some.integers(1, len(whole.messages)))
    beginning = replace(
        whole,
        messages=whole.messages[:length],
        calls=tuple(call for call in whole.calls if call.response < length),
        contexts=(Context(tuple(range(length))),),
    )
    earlier, later = Sent(beginning, made), Sent(whole, made)
    count = len(beginning.calls)
    assert states(earlier, count) == states(later, count)
    if count < len(whole.calls) and whole.calls[count].prompt_messages == length:
        assert states(earlier, count + 1) == states(later, count + 1)


@given(conversations(longest=8))
@settings(max_examples=examples(6))
@for_every(EAGER)
def test_a_history_grown_message_by_message_gives_the_same_decisions(made, entries):
    whole = session_of(entries)
    history = None
    for length in range(1, len(whole.messages) + 1):
        session = replace(
            whole,
            messages=whole.messages[:length],
            calls=tuple(call for call in whole.calls if call.response < length),
            contexts=(Context(tuple(range(length))),),
        )
        history = History.of(session, history)
    grown, fresh = Sent(whole, made, history=history), Sent(whole, made)
    assert grown.by_call == fresh.by_call


@given(conversations())
@settings(max_examples=examples(12))
@for_every(AT_INSERTION)
def test_strategies_at_insertion_never_change_what_was_sent(made, entries):
    sent = Sent(session_of(entries), made)
    for call in range(1, sent.history.call_count + 1):
        before, now = states(sent, call)[-1], states(sent, call + 1)[-1]
        assert all(now[index] == rendition for index, rendition in before.items())


@given(conversations(), some.booleans())
@settings(max_examples=examples(9))
@for_every(EAGER)
def test_only_results_calls_and_texts_are_touched_and_pairs_go_together(made, entries, grouped):
    sent = Sent(session_of(entries, grouped=grouped), made)
    history = sent.history
    for call in range(history.call_count + 1):
        for index in sent.changed(call):
            kind = BlockKind(int(history.kind[index]))
            assert kind is not BlockKind.SYSTEM_TEXT
            if made.name not in TEXTS_TOO:
                assert kind in (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL)
        if made.name not in PARTS_PAIRS:
            gone = {index for index in sent.changed(call) if is_gone(sent.rendition(index, call))}
            prompt = set(history.prompt(call).tolist())
            for result in history.results.tolist():
                if result in prompt:
                    assert (result in gone) == (int(history.call_block[result]) in gone)


@given(conversations(longest=8), some.data())
@settings(max_examples=examples(10))
@for_every(EAGER)
def test_a_compaction_or_a_rewind_is_a_new_beginning(made, entries, data):
    straight = session_of(entries)
    at = data.draw(some.integers(1, len(straight.messages)))
    # A call is made at `at` and answered, then given up; the conversation goes on from `at` in a new context.
    length = len(straight.messages)
    detour = replace(
        straight,
        messages=(*straight.messages, replace_role(straight)),
        contexts=(
            Context((*range(at), length)),
            Context(tuple(range(length)), at, ContextCause.REWIND),
        ),
        calls=tuple(
            sorted(
                (
                    *(call for call in straight.calls if call.response < at),
                    Call(length, 0, at),
                    *(Call(call.response, 1, call.prompt_messages) for call in straight.calls if call.response >= at),
                ),
                key=lambda call: (call.context, call.prompt_messages),
            )
        ),
    )
    if isinstance(in_use(made), SequentialStrategy) or made.name in REMEMBERS:
        # These remember across a rewind, as the systems they come from do; here it only has to hold together.
        assert len(Sent(detour, made).by_call) == len(detour.calls) + 1
        return
    with_detour, without = Sent(detour, made), Sent(straight, made)
    assert states(with_detour, len(detour.calls) + 1)[-1] == states(without, len(straight.calls) + 1)[-1]


def replace_role(session):
    """An assistant's answer, to be given up."""
    return session_of([{"role": "assistant", "content": "detour"}]).messages[0]


@pytest.mark.parametrize("made", EAGER, ids=lambda made: made.name)
def test_an_empty_session_and_one_without_calls_are_fine(made):
    for entries in ([], [{"role": "user", "content": "hello"}]):
        session = session_of(entries)
        assert Sent(session, made).changed() == {}
        nothing = replace(session, contexts=())
        history = History.of(nothing)
        if isinstance(made, ScheduledStrategy):
            assert len(made.schedule(history).blocks) == 0
        else:
            made.start(history)


@given(conversations(longest=6))
@settings(max_examples=examples(9))
@for_every([each for each in EAGER if isinstance(each, ScheduledStrategy)])
def test_scheduled_decisions_concern_blocks_that_are_sent(made, entries):
    history = History.of(session_of(entries))
    schedule = made.schedule(history)
    assert (history.enters[schedule.blocks] != NEVER).all()
    assert (schedule.calls >= 0).all()
    assert (schedule.calls <= history.call_count).all()
    assert schedule.decisions.max(initial=-1) < len(schedule.table)
    assert np.isin(schedule.blocks, np.arange(len(history.kind))).all()
