"""Strategies of frameworks and gateways on unexpected texts, and on long sessions."""

import pytest
from hypothesis import given, settings

from inspector.strategies.registry import strategy
from tests.examples import examples
from tests.strategies.odd_lists import assert_holds_odd_texts, lists
from tests.strategies.work import work

EAGER = (
    strategy("last-observations", keep=1, keep_tools=("",), remove_tools=("question",)),
    strategy("closed-windows", results=True),
    strategy("remove-regex", pattern=".", keep_last=1),
    strategy("deepagents-truncate-arguments", trigger_messages=1, keep_fraction=0.0, keep_messages=0, max_length=0),
    strategy("mask-observations", window=1),
    strategy("mask-browser-output", tools=("bash", "")),
    strategy("recent-events", keep_first=1, max_events=2),
    strategy("recent-events", keep_first=2, max_events=3, twice=True),
    strategy("clear-old", keep=1, merge_texts=True),
    strategy("amortized-forgetting", max_size=3, keep_first=1),
    strategy("openhands-condenser", max_size=4, keep_first=1, summary_tokens=50),
    strategy("openhands-condenser", max_size=1_000, max_tokens=5, summary_tokens=50),
    strategy("headroom-stale-reads", superseded=True, minimum=0),
    strategy("cozempic-trim", max_bytes=3, max_lines=1),
    strategy("cozempic-age", middle=1, old=2),
    strategy("cozempic-stale-reads", limit=0),
    strategy("pi-truncate", max_lines=1, max_bytes=3),
    strategy("pi-compaction", reserve=0, keep=5, window=10, summary_tokens=50),
    strategy("openclaw-prune", keep_assistants=1, threshold=3, head=1, tail=1, minimum=0, window=5),
    strategy("hermes-prepass", threshold=0.0, window=10, tail=0.0, protect_last=1, minimum=1),
    strategy("hermes-proactive-prune", trigger=1, minimum=1, reclaim=1, protect_last=1, protect_first=0),
    strategy("strands-window", window_size=2, per_turn=1),
    strategy("strands-window", window_size=40, window=5),
    strategy("strands-offload", threshold=1, preview_tokens=1),
    strategy("maf-tool-results", keep=0),
    strategy("maf-tool-calls", keep=1),
    strategy("maf-window", keep=1),
    strategy("maf-truncation", unit="tokens", limit=2, target=1),
    strategy("maf-context-window", window=20, max_output=0, keep=0),
    strategy("adk-filter", keep=1),
    strategy("vercel-prune", reasoning="all", tool_calls="all"),
    strategy("vercel-prune", tool_calls="before-last-message", tools=("", "bash")),
)


@pytest.mark.parametrize("made", EAGER, ids=lambda made: made.name)
@given(lists())
@settings(max_examples=examples(12))
def test_no_text_is_too_odd(made, messages):
    assert_holds_odd_texts(made, messages)


BUSY = (
    *EAGER,
    strategy("last-observations", keep=3, polling=4),
    strategy("mask-observations", window=40),
    strategy("recent-events", max_events=20),
    strategy("amortized-forgetting", max_size=20),
    strategy("openhands-condenser", max_size=40),
    strategy("openhands-condenser", max_size=10_000, max_tokens=3_000),
    strategy("pi-compaction", reserve=1_000, keep=2_000, window=8_000),
    strategy("pi-compaction", reserve=1_000, keep=2_000, window=8_000, version="1.5"),
    strategy("openclaw-prune", window=500_000),
    strategy("openclaw-prune", window=500_000, variant="2026.9"),
    strategy("hermes-prepass", window=8_000),
    strategy("hermes-prepass", window=8_000, version="0.21"),
    strategy("hermes-prepass", window=8_000, version="0.22"),
    strategy("hermes-proactive-prune", trigger=2_000, minimum=20, reclaim=100),
    strategy("hermes-proactive-prune", trigger=1, reclaim=1_000_000),
    strategy("strands-window", window_size=10_000),
    strategy("strands-window", window_size=10_000, window=4_000),
    strategy("maf-window", keep=20),
    strategy("maf-truncation", limit=1_000_000, target=2),
    strategy("maf-truncation", unit="tokens", limit=3_000, target=1_000),
    strategy("maf-context-window", window=5_000, max_output=100),
)


@pytest.mark.parametrize("made", BUSY, ids=lambda made: made.name)
def test_twice_the_session_is_about_twice_the_work(made):
    work(made, 10)
    once, twice, four_times = (work(made, count) for count in (40, 80, 160))
    assert four_times - twice < 2.5 * max(twice - once, 500)
