"""Figures of the sample session of a coding agent, from its recorded usage, list prices and `refetches_by_hand`."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

from inspector.replay.engine.replay import Replay, replay
from inspector.replay.sessions import replay_session
from inspector.session.open import open_session
from inspector.strategies.plan import Plan
from tests.conftest import ROOT
from tests.replay.refetches_by_hand import refetches_by_hand
from tests.test_samples import usages

SAMPLE = ROOT / "sample_sessions" / "coding-agent.jsonl"

READ, WRITE, UNCACHED, OUTPUT = 0.5e-6, 6.25e-6, 5e-6, 25e-6
"""Dollars per token of Claude Opus 4.8, which answered every call; all writes are for five minutes."""


class Bill(NamedTuple):
    """Dollars by kind of token."""

    read: float
    written: float
    uncached: float
    output: float


class Saving(NamedTuple):
    """Dollars that a plan saves: before re-fetches, and after them at both ends of their interval."""

    saved: float
    worst: float
    best: float


def bill() -> Bill:
    calls = usages(SAMPLE.name)
    return Bill(
        READ * sum(call["cache_read_input_tokens"] for call in calls),
        WRITE * sum(call["cache_creation_input_tokens"] for call in calls),
        UNCACHED * sum(call["input_tokens"] for call in calls),
        OUTPUT * sum(call["output_tokens"] for call in calls),
    )


def missed() -> float:
    """Dollars of the calls that read nothing, more than if they had read what the call before left in the cache."""
    left = [
        before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
        for before, call in pairwise(usages(SAMPLE.name))
        if call["cache_read_input_tokens"] == 0
    ]
    return (WRITE - READ) * float(sum(left))


def cost_of(replayed: Replay) -> float:
    """Return the dollars of all calls of a replay."""
    ledger = replayed.ledger
    return float(
        READ * ledger.cache_read.sum()
        + WRITE * ledger.cache_write.sum()
        + UNCACHED * ledger.uncached.sum()
        + OUTPUT * ledger.output.sum()
    )


@cache
def saving(spec: str) -> Saving:
    planned = replay(_sample().inputs, Plan.from_specs([spec]))
    saved = sum(bill()) - cost_of(planned)
    cuts = refetches_by_hand(planned)
    low, high = (sum(cut.expected[end] * cut.usd for cut in cuts) for end in (1, 2))
    return Saving(saved, saved - high, saved - low)


@cache
def _sample() -> Replay:
    return replay_session(open_session(SAMPLE), Plan())


def dollars(usd: float) -> str:
    """Return an amount with cents, or with a third decimal below ten cents."""
    return f"${usd:.2f}" if round(usd, 3) >= 0.1 else f"${usd:.3f}"


def percent(part: float, digits: int = 1) -> str:
    """Return a share of the bill, with so many decimals."""
    return f"{100 * part / sum(bill()):.{digits}f} %"
