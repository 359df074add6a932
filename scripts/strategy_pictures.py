"""Show the effect of a strategy on a sample session: as a sentence, and as a picture of text."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.session.open import open_session
from inspector.strategies.core.operations import Action
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.strategies.registry import strategy_for, with_values
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import CountCache, count_session

if TYPE_CHECKING:
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
    "anthropic-compact": {"trigger": 30_000},
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
    "haystack-prune": {"window": 50_000},
    "pi-truncate": {"max-lines": 100},
    "pi-compaction": {"window": 60_000, "keep": 8_000},
}
"""Limits that let a strategy act on sessions as small as the samples, where its own would not."""


@cache
def sample(name: str) -> ReplayInputs:
    """Return a sample, counted and ready to replay."""
    session = open_session(SAMPLES / name)
    *_, table = count_session(session, load_counter(), cache=CountCache(room_bytes=0))
    return ReplayInputs.of(History.of(session), table)


def picture(name: str) -> str:
    """Draw the effect of a strategy on the sample it changes most, at the call it changes most."""
    file, said, outcome = _largest(name)
    if outcome is None:
        return NOTHING
    call = int(np.abs(outcome.ledger.removed_tokens).argmax())
    head = f"`{name}` on `{file}`, call {call + 1}{said}:"
    return f"{head}\n\n{textwrap.indent(rows(outcome, call), '    ')}"


NOTHING = "It changes nothing in the sample sessions."


def effect(name: str) -> str:
    """Describe the effect of a strategy on the sample it changes most, at the call it changes most."""
    file, said, outcome = _largest(name)
    if outcome is None:
        return NOTHING
    call = int(np.abs(outcome.ledger.removed_tokens).argmax())
    state = outcome.state(call)
    changed = (state.action != Action.WHOLE) & state.in_prompt
    recorded, sent = int(state.recorded[changed].sum()), int(state.sent[changed].sum())
    blocks = f"{int(changed.sum()):,} blocks" if changed.sum() != 1 else "1 block"
    return f"At call {call + 1} of `{file}`{said}: {blocks}, {recorded:,} → {sent:,} tokens."


@cache
def _largest(name: str) -> tuple[str, str, Replay | None]:
    """Return the sample a strategy changes most, the limits it needs for it, and the outcome.

    The limits are those that fit a sample or, if these change nothing, limits for small sessions.
    """
    for limits in ({}, SMALL.get(name, {})):
        outcomes = []
        for each in NAMES:
            strategy = with_values(strategy_for(name, sample(each).history.session), limits)
            outcomes.append((each, replay(sample(each), Plan.of(strategy))))
        file, outcome = max(outcomes, key=lambda made: int(np.abs(made[1].ledger.removed_tokens).sum()))
        if len(outcome.edits.block):
            said = ", ".join(f"`{field}={value}`" for field, value in limits.items())
            return file, f" with {said}" if said else "", outcome
    return "", "", None


def rows(outcome: Replay, call: int) -> str:
    """Draw the blocks a plan changes most at a call, one per line, in prompt order."""
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
