"""What agents themselves cut while a session ran, as their records say it, beside our replay of the same.

A partial compaction names the results that were blanked and, with some agents, how many tokens that saved by the
agent's own estimate. Our rule has to name the same results: `inspector.replay.spared_results`. A full compaction says
how large the context was: our replay of the conversation as if it had gone on (`inspector.replay.uncompacted`) has to
come to that size at the same call. What it left is measured by the report of the first call after it: the texts the
file has of the new context, on the scale and with what the one before began with unseen, have to come to that.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.compaction_forecast import compaction_forecasts
from inspector.replay.recorded_clearing import CLEARED
from inspector.replay.spared_results import SPARED_BY, blanked_by
from inspector.replay.uncompacted import first_call_after
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import ReplaceText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.replay import Replay


_CHARACTERS_PER_TOKEN = 4
"""Claude Code takes four characters for a token where it says what blanking saved."""


@dataclass(frozen=True, slots=True)
class RecordedCut:
    """One compaction, full or partial.

    Attributes:
        call: The first call after it.
        what: What is compared: `context before`, `context after`, `tokens saved` or `results blanked`.
        results: Results that were blanked; 0 for a full compaction.
        missing: Of these, how many are not in the file.
        recorded: Tokens by the agent's own figure or the provider's; of results, how many.
        replayed: Tokens by our replay of it; of what blanking saved, by the rule the agent estimates with; of results,
            how many the same rule blanks here.
        measured: Tokens on the provider's scale, where `replayed` is by the agent's own rule; None where it is not.
        alike: Results that both blank; None where tokens are compared.
    """

    call: int
    what: str
    results: int
    missing: int
    recorded: int
    replayed: int
    measured: int | None = None
    alike: int | None = None

    @property
    def off(self) -> float | None:
        """How far the replay is off, as a share of what was recorded."""
        return self.replayed / self.recorded - 1 if self.recorded else None


def recorded_cuts(baseline: Replay) -> tuple[RecordedCut, ...]:
    """Everything a session's agent cut and said how much, in the order it happened."""
    found = [*_partial(baseline), *_same_results(baseline), *_full(baseline), *_left(baseline)]
    return tuple(sorted(found, key=lambda cut: cut.call))


def _partial(baseline: Replay) -> Iterator[RecordedCut]:
    inputs, session = baseline.inputs, baseline.history.session
    results = {
        session.blocks[block].tool_call_id: block
        for block in baseline.history.results.tolist()
        if session.blocks[block].kind is BlockKind.TOOL_RESULT
    }
    notice = CLEARED.operation.text if isinstance(CLEARED.operation, ReplaceText) else ""
    responses = [call.response for call in session.calls]
    for compaction in session.compactions:
        if not compaction.is_partial or not compaction.tokens_saved:
            continue
        named = [results[each] for each in compaction.cleared_tool_call_ids if each in results]
        blocks = [session.blocks[block] for block in named]
        whole = int(inputs.table.tokens[named].sum())
        left = len(named) * inputs.table.text_tokens(notice)
        yield RecordedCut(
            call=bisect_left(responses, compaction.message),
            what="tokens saved",
            results=len(compaction.cleared_tool_call_ids),
            missing=len(compaction.cleared_tool_call_ids) - len(named),
            recorded=compaction.tokens_saved,
            replayed=sum(block.characters for block in blocks) // _CHARACTERS_PER_TOKEN,
            measured=round(inputs.scale.calibration.ratio * (whole - left)),
        )


def _same_results(baseline: Replay) -> Iterator[RecordedCut]:
    """Which results were blanked, and which our rule would have."""
    session = baseline.history.session
    responses = [call.response for call in session.calls]
    gone: set[str] = set()
    for compaction in session.compactions:
        named = set(compaction.cleared_tool_call_ids) - gone
        rule = SPARED_BY.get(session.format)
        if not compaction.is_partial or not named or rule is None:
            continue
        ours = blanked_by(rule, baseline.history, compaction.message) - gone
        gone |= named
        yield RecordedCut(
            call=bisect_left(responses, compaction.message),
            what="results blanked",
            results=len(named),
            missing=0,
            recorded=len(named),
            replayed=len(ours),
            alike=len(named & ours),
        )


def _left(baseline: Replay) -> Iterator[RecordedCut]:
    """What full compactions left, by the report of the first call after them."""
    inputs, session = baseline.inputs, baseline.history.session
    if not session.compactions:
        return
    counted = inputs.layout.whole_tokens - inputs.recorded_removed
    shown = inputs.sizes.ratio * counted + inputs.layout.beside_prompts
    for index, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, index)
        before = -1 if call is None else int(inputs.previous_call[call])
        if call is None or before < 0 or not (inputs.reported[call] and inputs.reported[before]):
            continue
        # What accumulates unseen over a context goes with it; what was there when it began stays.
        began = int(np.flatnonzero(baseline.history.call_context == baseline.history.call_context[before])[0])
        if not inputs.reported[began]:
            continue
        unseen = float(inputs.recorded.prompt[began] - shown[began])
        recorded = int(inputs.recorded.prompt[call])
        yield RecordedCut(call, "context after", 0, 0, recorded, round(float(shown[call]) + unseen))


def _full(baseline: Replay) -> Iterator[RecordedCut]:
    compactions = baseline.history.session.compactions
    for forecast in compaction_forecasts(baseline, asked_for=True):
        reported = compactions[forecast.compaction].tokens_before
        if reported and forecast.prompt_tokens.value is not None:
            yield RecordedCut(forecast.call, "context before", 0, 0, reported, int(forecast.prompt_tokens.value))
