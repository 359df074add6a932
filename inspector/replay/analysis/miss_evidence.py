"""Derive the cause of a cache miss from a session: models, times, contexts, edits.

The first that applies is the cause: another model, a compaction or a rewind, an edit of text sent before, a pause
longer than the cache lifetime, other betas or another thinking level, a resume, a prompt below the minimum prefix, more
blocks than the lookback covers. Otherwise automatic caches (without reported writes) most likely evicted the entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.cache_models import NO_PREFIX
from inspector.replay.cache.miss_causes import MissCause, setting_changed
from inspector.replay.engine.edits import RECORDED
from inspector.session.model import BlockKind, ContextCause

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.prompt_layout import ContextLayout
    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Context, Session

FIVE_MINUTES, HOUR = 300.0, 3600.0
"""The two lifetimes that Anthropic offers, in seconds."""

LIFETIMES = ((FIVE_MINUTES, HOUR), (HOUR / 2, 12 * HOUR))
"""Shorter and longer lifetimes that requests may choose: Anthropic's and OpenAI's."""

TOOLS_LOCATOR = "tools"
"""Origin locator of recorded tool definitions."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence for the cause of one miss.

    Attributes:
        cause: The cause it supports.
        previous: The last call that shares the prompt's prefix, -1 for none.
        gap_seconds: Seconds since that call; None if a time is missing.
        lifetime: Cache lifetime in seconds of that call's entry; 0 if unknown.
        models: The models of that call and this one.
        blocks: First block that differs: the earlier and the current one; -1 for none.
        rule: Explanation of the edit by the plan or the agent; empty if there is none.
    """

    cause: MissCause
    previous: int
    gap_seconds: float | None
    lifetime: float
    models: tuple[str, str]
    blocks: tuple[int, int] = (-1, -1)
    rule: str = ""


class MissEvidence:
    """Finds evidence for the cause of a miss, call by call."""

    def __init__(self, replay: Replay, missed_without_plan: NDArray[np.bool_]) -> None:
        """Index a replay and the recorded data around it.

        Args:
            replay: The replay.
            missed_without_plan: Per call, True if it also missed the cache with nothing cut.
        """
        self._replay = replay
        self._missed_anyway = missed_without_plan
        inputs = replay.inputs
        self._previous = inputs.entry_call
        self._gaps = inputs.entry_gap
        self._lifetimes = lifetimes(replay)
        self._positions = inputs.layout.positions_after(inputs.layout.previous_blocks)
        self._contexts = _contexts_of_calls(replay)
        self._summaries = summary_requests(replay.history.session)

    def of(self, call: int, read: int) -> Evidence:
        """Return the evidence for a call that read this many tokens."""
        session = self._replay.history.session
        previous = int(self._previous[call])
        models = (session.calls[previous].model if previous >= 0 else "", session.calls[call].model)
        gap = float(self._gaps[call])
        lifetime = float(self._lifetimes[previous if previous >= 0 else call])
        # A summary request has other instructions and perhaps another model; the conversation continues after it.
        is_compaction = previous >= 0 and not self._summaries.isdisjoint((call, previous))
        compacted: tuple[MissCause, tuple[int, int], str] = (MissCause.COMPACTION, (-1, -1), "")
        cause, blocks, rule = compacted if is_compaction else self._cause(call, previous, read, lifetime)
        return Evidence(cause, previous, None if np.isnan(gap) else gap, lifetime, models, blocks, rule)

    def _cause(self, call: int, previous: int, read: int, lifetime: float) -> tuple[MissCause, tuple[int, int], str]:
        nothing = (-1, -1)
        inputs, replay = self._replay.inputs, self._replay
        if previous < 0:
            return MissCause.FIRST_REQUEST, nothing, ""
        if not inputs.same_model[call]:
            return MissCause.MODEL_CHANGED, nothing, ""
        if inputs.restarts[call]:
            return (*self._departure(call, previous), "")
        edited = self._edited(call)
        if edited is not None:
            return edited
        if 0 < lifetime < self._gaps[call]:
            return _expired(lifetime), nothing, ""
        messages, calls = replay.history.session.messages, replay.history.session.calls
        settings = setting_changed(calls[previous], calls[call])
        # No automatic cache documents that it distinguishes such requests.
        if settings is not None and inputs.caches.writes[call]:
            return settings, nothing, ""
        if messages[calls[previous].response].is_inherited and not messages[calls[call].response].is_inherited:
            return MissCause.RESUMED, nothing, ""
        ledger = replay.ledger
        if not read and ledger.prompt_tokens[previous] < inputs.caches.minimum_prefix[previous] < NO_PREFIX:
            return MissCause.BELOW_MINIMUM, nothing, ""
        if inputs.caches.writes[call]:
            is_far = self._positions[call] >= LOOK_BACK_POSITIONS and read > 0
            return MissCause.LOOK_BACK if is_far else MissCause.UNKNOWN, nothing, ""
        return MissCause.LIKELY_SERVER_SIDE, nothing, ""

    def _departure(self, call: int, previous: int) -> tuple[MissCause, tuple[int, int]]:
        """Return the cause of a prompt that does not grow from the previous one, and the blocks where they differ."""
        (context, layout), (_, layout_before) = self._contexts[call], self._contexts[previous]
        blocks = layout.blocks[: layout.prompt_blocks[np.searchsorted(layout.calls, call)]]
        before = layout_before.blocks[: layout_before.prompt_blocks[np.searchsorted(layout_before.calls, previous)]]
        all_blocks = self._replay.history.session.all_blocks
        place = 0
        while place < min(len(blocks), len(before)) and (
            blocks[place] == before[place] or all_blocks[blocks[place]].digest == all_blocks[before[place]].digest
        ):
            place += 1
        parts = tuple(int(each[place]) if place < len(each) else -1 for each in (before, blocks))
        first = all_blocks[parts[1]] if parts[1] >= 0 else None
        if first is not None and first.kind is BlockKind.SYSTEM_TEXT and context.cause is not ContextCause.COMPACTION:
            is_tools = first.origin.locator == TOOLS_LOCATOR
            return MissCause.TOOLS_CHANGED if is_tools else MissCause.SYSTEM_PROMPT_CHANGED, (parts[0], parts[1])
        cause = MissCause.COMPACTION if context.cause is ContextCause.COMPACTION else MissCause.REWIND
        return cause, (parts[0], parts[1])

    def _edited(self, call: int) -> tuple[MissCause, tuple[int, int], str] | None:
        """Return the edit where a prompt departs from the previous one; None if absent, or if it changed no miss."""
        changed = int(self._replay.ledger.first_changed[call])
        if changed < 0:
            return None
        by_plan, rule = self._edit(call, changed)
        if by_plan and self._missed_anyway[call]:
            return None
        return MissCause.PLAN_EDIT if by_plan else MissCause.CLEARING, (changed, changed), rule

    def _edit(self, call: int, block: int) -> tuple[bool, str]:
        """Return True if the plan, not the recorded agent, changed a block at a call, and its explanation."""
        edits = self._replay.edits
        row = edits.row(block, call)
        if row < 0:
            return False, ""
        reason = edits.reasons[edits.reason[row]]
        return reason.entry != RECORDED, self._replay.reason(block, call)


def summary_requests(session: Session) -> frozenset[int]:
    """Return the calls that wrote the summary of a compaction, for agents that record them as calls."""
    messages = session.messages
    return frozenset(index for index, call in enumerate(session.calls) if messages[call.response].is_summary)


LOOK_BACK_POSITIONS = 20
"""Positions that Anthropic searches backward from a breakpoint for an earlier entry."""


def _expired(lifetime: float) -> MissCause:
    if lifetime == FIVE_MINUTES:
        return MissCause.TTL_EXPIRED_5M
    return MissCause.TTL_EXPIRED_1H if lifetime == HOUR else MissCause.TTL_EXPIRED


def lifetimes(replay: Replay) -> NDArray[np.float64]:
    """Return the lifetime in seconds of each call's cache entry, the longer one if most was written for it, float64."""
    caches, ledger, share = replay.inputs.caches, replay.ledger, replay.inputs.recorded.one_hour_share
    found = caches.lifetime
    for shorter, longer in LIFETIMES:
        chosen = caches.writes & np.isin(caches.lifetime, (shorter, longer)) & ~np.isnan(share)
        chosen &= ledger.cache_write + ledger.cache_read > 0
        found = np.where(chosen, np.where(share > 0.5, longer, shorter), found)
    return found


def _contexts_of_calls(replay: Replay) -> dict[int, tuple[Context, ContextLayout]]:
    contexts = replay.history.session.contexts
    return {
        call: (context, layout)
        for context, layout in zip(contexts, replay.inputs.layout.contexts, strict=True)
        for call in layout.calls.tolist()
    }
