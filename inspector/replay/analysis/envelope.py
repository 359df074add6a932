"""Distance of a plan from settings that have been tried in public.

Public experiments and shipped defaults cover a part of all settings:

- results older than ten turns masked: 2,496 pairs on SWE-bench Verified (arXiv 2508.21433);
- the newest 40,000 tokens of results kept (Claude Code, OpenCode);
- large results cut on arrival to no less than 30,000 characters or 10,000 tokens (Claude Code, Codex).

After 311 recorded cuts, one in three file reads cut within five calls was fetched again, one in eighteen after twenty;
commands and searches were not (`refetches`). A plan inside this envelope can be recommended, others are untested.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from inspector.replay.analysis.plan_cuts import PlanCuts

if TYPE_CHECKING:
    from inspector.replay.engine.replay import Replay

READ_CALLS: Final = 20
"""Calls for which a file read stays, unless its file is read again or changed before."""

RESULT_CALLS: Final = 5
"""Calls for which other results, tool calls and reasoning stay."""

TURNS: Final = 10
"""Turns that stay in the paired experiments."""

NEWEST_TOKENS: Final = 40_000
"""Tokens of the newest results that Claude Code and OpenCode keep."""

INSERTION_CHARACTERS: Final = 30_000
"""Smallest shipped limit for results cut on arrival (Claude Code, Bash)."""

MOST_PER_100_CALLS: Final = 5.0
"""Maximum expected re-fetches in 100 calls of a plan that can be recommended."""

BEYOND: Final = "beyond what has been tried"
"""Label of plans outside the envelope."""

TOO_MANY_REFETCHES: Final = f"more than {MOST_PER_100_CALLS:g} expected re-fetches per 100 calls"
"""Reason for not recommending a plan."""


class EvidenceLevel(StrEnum):
    """Public evidence for a plan's settings on a session."""

    TRIED = "tried"
    BEYOND = "beyond"


@dataclass(frozen=True, slots=True)
class Envelope:
    """Verdict on a plan.

    Attributes:
        evidence: Whether settings like these have been tried in public.
        reason: The setting that has not been tried, and the nearest one that has; empty for a tried plan.
        never_whole: Number of tool results that are never sent whole and keep less than any shipped limit.
    """

    evidence: EvidenceLevel
    reason: str = ""
    never_whole: int = 0

    @property
    def is_tried(self) -> bool:
        return self.evidence is EvidenceLevel.TRIED


TRIED: Final = Envelope(EvidenceLevel.TRIED)
"""Verdict on a plan that stays inside."""


def envelope(replay: Replay, cuts: PlanCuts | None = None) -> Envelope:
    """Compare a plan's cuts on a session with what has been tried in public.

    Args:
        replay: The session under the plan.
        cuts: Its cuts, if already found.
    """
    found = PlanCuts.of(replay) if cuts is None else cuts
    if not len(found.block):
        return TRIED
    on_arrival = found.is_result & (found.age == 0)
    too_little = on_arrival & (found.kept_characters < INSERTION_CHARACTERS)
    never_whole = len(np.unique(found.block[too_little]))
    if never_whole:
        results = len(np.unique(found.block[found.is_result]))
        reason = f"{never_whole} of {results} results are never sent whole; tried: 30,000 characters on arrival"
        return Envelope(EvidenceLevel.BEYOND, reason, never_whole)
    later = ~on_arrival
    age = found.age[later]
    if not len(age) or int(age.min()) >= TURNS or int(found.newer_tokens[later].min()) >= NEWEST_TOKENS:
        return TRIED
    young_reads = later & found.is_read & ~found.is_superseded & (found.age < READ_CALLS)
    young_results = later & found.is_result & ~found.is_read & (found.age < RESULT_CALLS)
    young_own = later & ~found.is_result & (found.age < RESULT_CALLS)
    for young, name, limit in (
        (young_own, "tool calls and reasoning", RESULT_CALLS),
        (young_reads, "file reads", READ_CALLS),
        (young_results, "results", RESULT_CALLS),
    ):
        if young.any():
            youngest = int(found.age[young].min())
            calls = f"{youngest} call{'' if youngest == 1 else 's'}"
            return Envelope(
                EvidenceLevel.BEYOND,
                f"cuts {name} after {calls}; tried: {limit} calls, 10 turns, or the newest 40,000 tokens",
            )
    return TRIED
