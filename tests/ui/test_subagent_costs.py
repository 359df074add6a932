"""The screen names the calls and dollars of subagents next to the session's own, and follows running ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from inspector.replay.figure import HowKnown
from inspector.replay.pricing.prices import Pricing
from inspector.replay.sessions import NOT_FOUND, SubagentCost, SubagentCosts, SubagentReader, UnreadSubagent
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from inspector.ui.cost.summary import recorded_line
from tests.session.claude_lines import SESSION, Script
from tests.session.test_related import claude_child, claude_parent
from tests.ui.test_cost_answers import UNPRICED, misses, summary, words

if TYPE_CHECKING:
    from pathlib import Path

CALL_USD = 10_000 * 5 / 1e6 + 1_000 * 25 / 1e6
"""A call of Claude Opus 4.8, at $5 per million uncached tokens and $25 per million output tokens: $0.075."""


def child(folder: Path, calls: int, agent: str = "a1b2") -> Path:
    """Write a subagent whose calls send 10,000 uncached tokens and return 1,000 each."""
    script = Script()
    script.prompt("find it", isSidechain=True, agentId=agent)
    for number in range(calls):
        usage = {"input_tokens": 10_000, "output_tokens": 1_000}
        script.text(f"{agent}m{number}", usage=usage, isSidechain=True, agentId=agent)
    path = folder / SESSION / "subagents" / f"agent-{agent}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return script.write(path)


def costs(unread: int = 0, cost_usd: float | None = 0.225) -> SubagentCosts:
    one = SubagentCost(
        path="a",
        id="a",
        title="",
        model="claude-opus-4-8",
        calls=3,
        prompt_tokens=30_000,
        cache_read_tokens=0,
        output_tokens=3_000,
        cost_usd=cost_usd,
        side_requests=0,
        side_requests_usd=None,
        known=HowKnown.EXACT,
        is_lower_bound=False,
    )
    return SubagentCosts.of([one], [UnreadSubagent(id="b", problem=NOT_FOUND)] * unread)


def line(found: SubagentCosts, path: Path | None = None) -> str:
    cost = summary() if path is None else summary(path, advice="no price")
    return words(recorded_line(cost, misses(), None, "claude-code", is_searching=False, subagents=found))


def test_the_cost_pane_names_subagents_next_to_the_cost() -> None:
    assert "+$0.23 for 1 subagent, 3 calls" in line(costs())
    assert "+≥ $0.23 for 1 subagent, 3 calls, 2 not read" in line(costs(unread=2))
    assert "+30k tokens for 1 subagent, 3 calls" in line(costs(cost_usd=None), UNPRICED)


def test_a_reader_counts_calls_once_and_reads_only_changed_files_again(tmp_path: Path, monkeypatch) -> None:
    path = claude_parent(tmp_path)
    child(tmp_path, 2)
    child(tmp_path, 1, "c3d4")
    reader, session, pricing = SubagentReader(), open_session(path), Pricing()
    read = []

    def noted(path: Path) -> object:
        read.append(path.name)
        return open_session(path)

    monkeypatch.setattr("inspector.replay.sessions.open_session", noted)
    found = reader.read(session, pricing)
    assert found is not None
    assert (len(found.sessions), found.calls, found.prompt_tokens) == (2, 3, 30_000)
    assert found.cost_usd == pytest.approx(3 * CALL_USD)
    assert sorted(read) == ["agent-a1b2.jsonl", "agent-c3d4.jsonl"]
    assert reader.read(session, pricing) == found
    assert len(read) == 2
    child(tmp_path, 3)
    grown = reader.read(session, pricing)
    assert grown is not None
    assert (grown.calls, read[2:]) == (4, ["agent-a1b2.jsonl"])
    assert grown.cost_usd == pytest.approx(4 * CALL_USD)


def test_side_requests_of_copied_calls_are_not_counted_again(tmp_path: Path) -> None:
    path = claude_parent(tmp_path)
    advice = {"type": "advisor_message", "model": "claude-opus-4-8", "input_tokens": 10_000, "output_tokens": 1_000}
    usage = {"input_tokens": 10_000, "output_tokens": 1_000}
    script = Script()
    script.prompt("find it", isSidechain=True, agentId="a1b2")
    for number, origin in enumerate(("99999999-2222-4333-8444-555555555555", SESSION)):
        iterations = [{"type": "message", **usage}, advice]
        line: dict[str, Any] = {"isSidechain": True, "agentId": "a1b2", "sessionId": origin}
        script.text(f"m{number}", usage={**usage, "iterations": iterations}, **line)
    child = tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl"
    child.parent.mkdir(parents=True, exist_ok=True)
    assert len(open_session(script.write(child)).side_calls) == 2
    found = SubagentReader().read(open_session(path), Pricing())
    assert found is not None
    (one,) = found.sessions
    assert (one.calls, one.side_requests, one.side_requests_usd) == (1, 1, pytest.approx(CALL_USD))


def test_other_prices_apply_to_subagents(tmp_path: Path) -> None:
    path = claude_parent(tmp_path)
    child(tmp_path, 2)
    reader, session = SubagentReader(), open_session(path)
    full, half = reader.read(session, Pricing()), reader.read(session, Pricing(factor=0.5))
    assert full is not None
    assert half is not None
    assert full.cost_usd == pytest.approx(2 * CALL_USD)
    assert half.cost_usd == pytest.approx(CALL_USD)


def test_a_cancelled_reader_returns_nothing(tmp_path: Path) -> None:
    path = claude_parent(tmp_path)
    claude_child(tmp_path / SESSION / "subagents" / "agent-a1b2.jsonl")
    assert SubagentReader().read(open_session(path), Pricing(), is_cancelled=lambda: True) is None


async def test_a_running_subagent_is_followed_on_both_screens(running, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("inspector.ui.controller.subagents.SECONDS_BETWEEN_READS", 0.05)
    path = claude_parent(tmp_path)
    child(tmp_path, 1)
    async with running(path, plan=Plan(), size=(160, 40)) as run:
        await run.until(lambda: "+$0.075 for 1 subagent, 1 call" in run.text())
        child(tmp_path, 2)
        await run.until(lambda: "+$0.15 for 1 subagent, 2 calls" in run.text())
        await run.press("M")
        await run.until(lambda: "2 calls of 1 subagent cost $0.15 more, not included above" in run.text())
        child(tmp_path, 4)
        await run.until(lambda: "4 calls of 1 subagent cost $0.30 more, not included above" in run.text())
