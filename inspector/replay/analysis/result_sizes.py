"""Sizes of single tool results by the provider's count: the difference of two reported prompts.

If a prompt grew by a response and one result, it contains the previous prompt, the response with its reported length,
and the result: the remainder is the result with its envelope. Calls are skipped if the file does not record other
changes (`Calibration.shifts`), if the response length is a placeholder, or if the treatment of its reasoning is
unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.recorded_calls import deduplicated_prompts
from inspector.session.model import BlockKind
from inspector.tokens.calibration import ResponseModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.engine.inputs import ReplayInputs


def results_by_difference(inputs: ReplayInputs) -> Mapping[int, int]:
    """Return tokens of every tool result that was the only addition of its call, by block index."""
    history, session = inputs.history, inputs.history.session
    count = history.call_count
    if not count:
        return {}
    previous = inputs.layout.previous_call[:-1]
    shifted = {shift.call for shift in inputs.scale.calibration.shifts}
    entered = history.enters.astype(np.int64)
    sent = np.flatnonzero((history.kind != BlockKind.OTHER) & (entered >= 0) & (entered < count))
    responses = np.array([call.response for call in session.calls], dtype=np.int64)
    # Blocks that the call added besides the previous response.
    given = sent[~np.isin(history.message[sent], responses)]
    calls, first, blocks = np.unique(entered[given], return_index=True, return_counts=True)
    measured = deduplicated_prompts(history)
    found: dict[int, int] = {}
    for call, block in zip(calls[blocks == 1].tolist(), given[first[blocks == 1]].tolist(), strict=True):
        before = int(previous[call])
        if before < 0 or call in shifted or history.kind[block] != BlockKind.TOOL_RESULT:
            continue
        now, then = session.calls[call].usage, session.calls[before].usage
        if (
            now is None
            or then is None
            or then.output_is_placeholder
            or session.calls[call].model != (session.calls[before].model)
        ):
            continue
        held = _held(inputs, before)
        if held is None or inputs.recorded_removed[call] != inputs.recorded_removed[before]:
            continue
        tokens = int(measured[call] - measured[before]) - held
        if tokens > 0:
            found[block] = tokens
    return found


def _held(inputs: ReplayInputs, call: int) -> int | None:
    """Return the response tokens included in the next prompt; None if the treatment of reasoning is unknown."""
    session = inputs.history.session
    made = session.calls[call]
    if made.usage is None:
        return None
    blocks = session.messages[made.response].blocks
    if not made.usage.reasoning and not any(block.kind is BlockKind.THINKING for block in blocks):
        return made.usage.output
    reading = inputs.scale.calibration.readings.get(made.model, ResponseModel.SIGNATURES)
    if reading in (ResponseModel.KEPT, ResponseModel.SINCE_USER, ResponseModel.LAST):
        return made.usage.output
    if reading is ResponseModel.DROPPED and made.usage.reasoning:
        return made.usage.output - made.usage.reasoning
    return None
