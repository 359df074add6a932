"""A small picture of what a strategy does to one of the samples, as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.open import open_session
from inspector.strategies.core.rendition import Action
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy_for, with_values
from inspector.tokens.count_cache import CountCache
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.core.parameters import ParameterValue

SAMPLES = Path(__file__).resolve().parent.parent / "sample_sessions"
NAMES = ("coding-agent.jsonl", "terminal-agent.jsonl", "trading-desk.json", "mail-and-jobs.jsonl", "local-agent.json")
ROWS = 6
CELLS = 24

SMALL: dict[str, dict[str, ParameterValue]] = {
    "cap-at-insertion": {"limit": 8_000},
    "store-large": {"limit": 20_000},
    "summarize": {"threshold": 20_000},
    "anthropic-clear-tool-uses": {"trigger": 30_000},
    "langchain-clear-tool-uses": {"trigger": 20_000},
    "langchain-summarization": {"trigger-tokens": 20_000},
    "deepagents-evict": {"limit": 2_000},
    "opencode-prune": {"protect": 4_000, "minimum": 1_000},
    "opencode-truncate": {"max-lines": 100},
    "codex-truncate": {"budget": 1_000},
    "gemini-mask": {"protect": 8_000, "minimum": 2_000},
    "gemini-truncate": {"limit": 6_000, "applies-to": "all"},
    "cline-truncate": {"window": 50_000},
    "cline-compaction": {"window": 60_000, "keep": 8_000},
    "roo-truncate": {"window": 60_000},
    "cozempic-age": {"middle": 2, "old": 4},
    "pi-truncate": {"max-lines": 100},
    "pi-compaction": {"window": 60_000, "keep": 8_000},
}
"""Limits that let a strategy act on sessions as small as the samples, where its own would not."""


@cache
def sample(name: str) -> ReplayInputs:
    """A sample, counted and ready to replay."""
    session = open_session(SAMPLES / name)
    *_, table = count_session(session, load_counter(), cache=CountCache(room_bytes=0))
    return ReplayInputs.of(History.of(session), table)


def picture(name: str) -> str:
    """What a strategy does to the sample it changes most, at the call it changes most.

    With the values that fit a sample or, where those change nothing, with limits that suit small sessions.
    """
    drawn = _picture(name, {})
    if drawn is None and name in SMALL:
        said = ", ".join(f"`{field}={value}`" for field, value in SMALL[name].items())
        drawn = _picture(name, SMALL[name], f" with {said}")
    return drawn or "It changes nothing in the samples: none of them has what it looks for.\n"


def _picture(name: str, limits: Mapping[str, ParameterValue], said: str = "") -> str | None:
    outcomes = []
    for each in NAMES:
        strategy = with_values(strategy_for(name, sample(each).history.session), limits)
        outcomes.append((each, replay(sample(each), Plan.of(strategy))))
    file, outcome = max(outcomes, key=lambda made: int(np.abs(made[1].ledger.removed_tokens).sum()))
    if not len(outcome.edits.block):
        return None
    call = int(np.abs(outcome.ledger.removed_tokens).argmax())
    return f"On `{file}`, call {call + 1}{said}, what it changes most:\n\n```text\n{rows(outcome, call)}```\n"


def rows(outcome: Replay, call: int) -> str:
    """The blocks a plan changes most at a call, a line each, in the order they are sent."""
    state = outcome.state(call)
    cut = np.where(state.in_prompt, np.abs(state.recorded - state.sent), 0)
    changed = np.flatnonzero((state.action != Action.WHOLE) & state.in_prompt)
    largest = sorted(changed[np.argsort(-cut[changed], kind="stable")][:ROWS].tolist())
    scale = max((int(max(state.recorded[block], state.sent[block])) for block in largest), default=1) or 1
    lines = []
    for block in largest:
        recorded, sent = int(state.recorded[block]), int(state.sent[block])
        tool = outcome.history.session.blocks[block].tool_name or "text"
        kept = round(CELLS * sent / scale)
        gone = max(round(CELLS * recorded / scale) - kept, 0)
        bar = "█" * kept + "░" * gone
        what = Action(int(state.action[block])).label
        lines.append(f"{tool:20.20} {bar:{CELLS + 1}} {sent:>7,} of {recorded:>7,} tokens  {what}\n")
    others = len(changed) - len(largest)
    return "".join(lines) + (f"and {others:,} more\n" if others else "")
