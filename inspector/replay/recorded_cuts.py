"""What agents themselves cut while a session ran, as their records say it, beside our replay of the same.

A partial compaction names the results that were blanked and, with some agents, how many tokens that saved by the
agent's own estimate. A full one says how large the context was: our replay of the conversation as if it had gone on
(`inspector.replay.uncompacted`) has to come to that size at the same call.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.replay.compaction_forecast import compaction_forecasts
from inspector.replay.recorded_clearing import CLEARED
from inspector.session.model import BlockKind
from inspector.strategies.operations import ReplaceText

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
        what: What is compared: `context before` or `tokens saved`.
        results: Results that were blanked; 0 for a full compaction.
        missing: Of these, how many are not in the file.
        recorded: Tokens by the agent's own figure.
        replayed: Tokens by our replay of it; of what blanking saved, by the rule the agent estimates with.
        measured: Tokens on the provider's scale, where `replayed` is by the agent's own rule; None where it is not.
    """

    call: int
    what: str
    results: int
    missing: int
    recorded: int
    replayed: int
    measured: int | None = None

    @property
    def off(self) -> float | None:
        """How far the replay is off, as a share of what was recorded."""
        return self.replayed / self.recorded - 1 if self.recorded else None


def recorded_cuts(baseline: Replay) -> tuple[RecordedCut, ...]:
    """Everything a session's agent cut and said how much, in the order it happened."""
    found = [*_partial(baseline), *_full(baseline)]
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


def _full(baseline: Replay) -> Iterator[RecordedCut]:
    compactions = baseline.history.session.compactions
    for forecast in compaction_forecasts(baseline, asked_for=True):
        reported = compactions[forecast.compaction].tokens_before
        if reported and forecast.prompt_tokens.value is not None:
            yield RecordedCut(forecast.call, "context before", 0, 0, reported, int(forecast.prompt_tokens.value))
