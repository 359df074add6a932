"""Readable prompt tokens of every call of a replay, and detection of cache misses.

Separate from their explanation (`cache_misses`), because drawing a session before a replay needs these without the
engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.cache.cache_models import NO_PREFIX
from inspector.replay.cache.miss_causes import MISS_SHARE, MISS_TOKENS
from inspector.replay.cache.prompt_usage import UNCHANGED
from inspector.replay.engine.recorded_calls import recorded_calls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.replay import Replay

    Integers = NDArray[np.int64]


def readable_tokens(
    replay: Replay, calls: NDArray[np.intp] | None = None, *, after: Integers | None = None
) -> Integers:
    """Return prompt tokens in the cache after the last call of the thread and the model, per call; -1 if unknown.

    Unknown for a thread's first call, and if only one of the two calls has reported usage. Calls with an expected read
    (a probability) cannot miss and are unknown too.

    Args:
        replay: A replay.
        calls: Calls to compute, one row each; all by default.
        after: Per call of the session, another call whose prompt it may read.
    """
    inputs, ledger = replay.inputs, replay.ledger
    asked = slice(None) if calls is None else calls
    previous = (inputs.entry_call if after is None else after)[asked]
    if not len(previous):
        return np.zeros(0, dtype=np.int64)
    may_read, caches = caches_at_all(replay), inputs.caches
    prompt, uncached, minimum = (
        ledger.prompt_tokens[previous],
        ledger.uncached[previous],
        caches.minimum_prefix[previous],
    )
    # If writes are counted, uncached tokens are not in the cache; otherwise whole prompts are.
    kept = np.where(caches.writes[previous], prompt - uncached, prompt)
    # A prompt below the minimum is not cached, even if the next one could have read it.
    short = (prompt < minimum) & (kept == 0)
    held = np.where(short, prompt, np.where(kept >= np.minimum(minimum, prompt), kept, 0))
    held = np.where(may_read[previous] & may_read[asked], held, 0)
    known = (previous >= 0) & (inputs.anchored[asked] == inputs.anchored[previous]) & ~inputs.uses_expected_reads[asked]
    could_read = np.minimum(held, ledger.prompt_tokens[asked])
    if replay.edits.by_plan.any():
        # If the plan cut the end of the previous prompt, new text has replaced it, which was never cached. The readable
        # part is then the one without cache invalidation by edits. This does not apply to calls that also missed as
        # recorded.
        recorded, recached = inputs.recorded, replay.invalidated_calls
        before, read = recorded.prompt[inputs.entry_call[recached]], recorded.cache_read[recached]
        reported = ~is_miss(np.minimum(before, recorded.prompt[recached]), read)
        most = np.full(len(ledger.prompt_tokens), UNCHANGED)
        most[recached[reported]] = np.maximum(replay.usage_without_edits.cache_read, ledger.cache_read[recached])[
            reported
        ]
        could_read = np.minimum(could_read, most[asked])
    return np.where(known, could_read, -1).astype(np.int64)


def caches_at_all(replay: Replay) -> NDArray[np.bool_]:
    """Return True per call if it could have read from a cache, by all reads and writes of the session, bool.

    A model with an unknown cache has one if its provider reported cache usage for a call of it.
    """
    ledger, inputs = replay.ledger, replay.inputs
    uses = (ledger.cache_read > 0) | (ledger.cache_write > 0)
    models = recorded_calls(replay.history).models
    of_model = np.bincount(models.code, uses, len(models.names)) > 0
    is_known = inputs.caches.minimum_prefix < NO_PREFIX
    found: NDArray[np.bool_] = np.where(is_known, uses.any(), of_model[models.code] & inputs.anchored)
    return found


def missed_calls(replay: Replay) -> NDArray[np.bool_]:
    """Return True per call if it missed the prompt cache, bool."""
    return is_miss(readable_tokens(replay), replay.ledger.cache_read)


def calls_missed_by_edits(replay: Replay, baseline: Replay, missed_without_plan: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the calls that miss the prompt cache because of a plan's edits, ascending.

    Args:
        replay: The plan's replay.
        baseline: The session with nothing cut.
        missed_without_plan: Result of `missed_calls` with nothing cut.
    """
    edited = np.flatnonzero(replay.ledger.is_break & ~baseline.ledger.is_break & ~missed_without_plan)
    return edited[is_miss(readable_tokens(replay, edited), replay.ledger.cache_read[edited])]


def is_miss(could_read: Integers, read: Integers) -> NDArray[np.bool_]:
    """Return True per call if its unread tokens reach the miss threshold, bool."""
    lost = could_read - read
    missed: NDArray[np.bool_] = (lost >= MISS_TOKENS) & (lost >= MISS_SHARE * could_read)
    return missed
