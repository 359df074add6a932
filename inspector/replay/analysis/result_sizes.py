"""What single tool results measure by the provider's own count: the difference of two reported prompts.

Where a prompt grew from the one before it by a response and one result, it holds what that one held, the response, of
whose length the provider tells, and the result: what is left is the result with the envelope around it. Nothing is said
where the file does not show what else came or went (`Calibration.shifts`), the length of a response is a placeholder,
or it is not known what became of its reasoning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.engine.measured_prompts import measured_prompts
from inspector.session.model import BlockKind
from inspector.tokens.calibration import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.replay.engine.inputs import ReplayInputs


def results_by_difference(inputs: ReplayInputs) -> Mapping[int, int]:
    """Tokens of every tool result that was alone in coming with its call, by block index."""
    history, session = inputs.history, inputs.history.session
    count = history.call_count
    if not count:
        return {}
    previous = inputs.layout.previous_call[:-1]
    shifted = {shift.call for shift in inputs.scale.calibration.shifts}
    entered = history.enters.astype(np.int64)
    sent = np.flatnonzero((history.kind != BlockKind.OTHER) & (entered >= 0) & (entered < count))
    responses = np.array([call.response for call in session.calls], dtype=np.int64)
    # What came with a call beside the response of the call before it.
    given = sent[~np.isin(history.message[sent], responses)]
    calls, first, blocks = np.unique(entered[given], return_index=True, return_counts=True)
    measured = measured_prompts(history)
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
    """How much of a reported response the next prompt holds; None where it is not known what became of reasoning."""
    session = inputs.history.session
    made = session.calls[call]
    if made.usage is None:
        return None
    blocks = session.messages[made.response].blocks
    if not made.usage.reasoning and not any(block.kind is BlockKind.THINKING for block in blocks):
        return made.usage.output
    reading = inputs.scale.calibration.readings.get(made.model, Reading.SIGNATURES)
    if reading in (Reading.KEPT, Reading.SINCE_USER, Reading.LAST):
        return made.usage.output
    if reading is Reading.DROPPED and made.usage.reasoning:
        return made.usage.output - made.usage.reasoning
    return None
