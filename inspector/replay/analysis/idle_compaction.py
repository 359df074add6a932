"""Idle compaction of Claude Code: it compacts a large session that waits for its user, while the cache is still warm.

On by default since version 2.1.299: about 54 minutes (90 % of an hour) after the last reply, if the prompt has 200,000
tokens or more. `"idleCompaction": false` in the settings turns it off, `CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS` in the
environment changes the size. Source: changelog of Claude Code 2.1.286 and 2.1.299.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.cache_misses import HOUR, lifetimes
from inspector.replay.analysis.model_switch import main_calls
from inspector.replay.pricing.context_window import agent_version

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Session

AGENT: Final = "claude-code"

FIRST_VERSION: Final = (2, 1, 299)

MIN_TOKENS: Final = 200_000

AFTER_SECONDS: Final = 0.9 * HOUR

SETTING: Final = '"idleCompaction": false'

MIN_TOKENS_VARIABLE: Final = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"

SLACK_SECONDS: Final = 300.0
"""A recorded compaction counts as idle if it began up to this long before the usual time, or later."""


class IdleRule(NamedTuple):
    """Conditions for compacting an idle session.

    Attributes:
        min_tokens: Smallest prompt.
        after_seconds: Time since the last reply.
    """

    min_tokens: int = MIN_TOKENS
    after_seconds: float = AFTER_SECONDS


def is_idle_compaction(session: Session, compaction: int) -> bool:
    """Return True if a recorded compaction was not requested and began 49 minutes or more after the last reply."""
    each = session.compactions[compaction]
    if session.format != AGENT or each.is_partial or each.trigger == "manual" or each.time is None:
        return False
    before = (message.time for message in reversed(session.messages[: each.message]) if message.time is not None)
    last = next((time for time in before if time < each.time), None)
    return last is not None and each.time - last >= AFTER_SECONDS - SLACK_SECONDS


def idle_rule(replay: Replay) -> IdleRule | None:
    """Return the rule for idle compaction of a session; None if its agent has none.

    A recorded pause at a sufficient size without a compaction shows that it is turned off.
    """
    session = replay.history.session
    if session.format != AGENT or agent_version(session.agent) < FIRST_VERSION:
        return None
    sizes = [
        each.tokens_before
        for index, each in enumerate(session.compactions)
        if each.tokens_before and is_idle_compaction(session, index)
    ]
    rule = IdleRule(min(MIN_TOKENS, *sizes)) if sizes else IdleRule()
    if not has_hour_cache(replay) or (not sizes and bool(idle_calls(replay, rule).any())):
        return None
    return rule


def has_hour_cache(replay: Replay) -> bool:
    """Return True if the main conversation's cache lives for an hour, so that it is warm after 54 minutes."""
    main = main_calls(replay)
    return bool(len(main)) and float(lifetimes(replay)[int(main[-1])]) >= HOUR


def idle_calls(replay: Replay, rule: IdleRule) -> NDArray[np.bool_]:
    """Return True per call if the prompt before it was large enough and the pause long enough for a compaction."""
    inputs = replay.inputs
    previous = inputs.previous_call[: replay.history.call_count]
    sizes = np.where(previous >= 0, replay.ledger.prompt_tokens[previous], 0)
    found: NDArray[np.bool_] = (sizes >= rule.min_tokens) & (inputs.gap_seconds >= rule.after_seconds)
    return found
