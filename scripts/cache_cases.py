"""Build the table of `docs/cache-and-cost.md`: a few strategies on a sample session, in tokens and in dollars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inspector.replay.analysis.plan_outcome import plan_outcome
from inspector.replay.engine.inputs import ReplayInputs
from inspector.replay.engine.replay import replay
from inspector.replay.pricing.prices import Pricing
from inspector.session.open import open_session
from inspector.strategies.history.history import History
from inspector.strategies.plan import Plan
from inspector.tokens.counter import load_counter
from inspector.tokens.token_table import count_session

if TYPE_CHECKING:
    from inspector.replay.analysis.plan_outcome import PlanOutcome

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = "sample_sessions/coding-agent.jsonl"

CASES = {
    "keep-recent:keep=10": "keep the ten newest results, decided again at every call",
    "keep-recent:keep=10,batch-calls=10": "the same, edited only at every tenth call",
    "token-budget": "cut all but the newest batch once a prompt exceeds 40,000 tokens",
    "tiered-stale": "cut every result as soon as the model has answered it",
    "trim-at-insertion:threshold=2000,head=1000,tail=500": "cut long results when they arrive, and never again",
}
"""Strategies in their one-line form, with descriptions."""


def outcomes() -> dict[str, PlanOutcome]:
    """Replay every case on the sample."""
    session = open_session(ROOT / SAMPLE)
    *_, table = count_session(session, load_counter())
    inputs = ReplayInputs.of(History.of(session), table, pricing=Pricing(), precise=True)
    baseline = replay(inputs, Plan())
    return {spec: plan_outcome(baseline, replay(inputs, Plan.from_specs([spec], session=session))) for spec in CASES}


def rows() -> list[tuple[str, ...]]:
    """Build one row per case."""
    found = []
    for spec, outcome in outcomes().items():
        tokens, usd = outcome.savings.tokens, outcome.savings.usd
        prompts = (outcome.figures.prompt_tokens.value or 0) + (tokens.value or 0)
        cost = (outcome.figures.cost_usd.value or 0) + (usd.value or 0)
        found.append(
            (
                f"`{spec}`",
                CASES[spec],
                _change(tokens.value, prompts),
                _change(usd.value, cost),
                f"{outcome.cache.plan_breaks:,.0f}",
                f"{outcome.cache.resent_tokens:,.0f}",
                f"${outcome.cache.break_usd:,.2f}",
            )
        )
    return found


MINUS = "\N{MINUS SIGN}"

HEAD = ("plan", "rule", "tokens", "dollars", "changed prompts", "tokens rewritten to cache", "cost of changes")


def _change(saved: float | None, whole: float) -> str:
    """Format a saving as a change of the total; negative if less is spent."""
    share = -100 * (saved or 0) / whole
    return f"{share:+.0f} %".replace("-", MINUS)
