"""Compare cuts that agents recorded with our replay of them.

A partial compaction names the cleared results and, with some agents, the tokens saved by the agent's own estimate. The
agent's rule (`CLEAR_RULES`) must select the same results here. A full compaction records the size of the context: our
replay of the conversation without it (`without_compaction`) must reach that size at the same call. The size after it is
the report of the first call after it: the recorded texts of the new context, on the fitted scale and with the
unrecorded start of the previous context, must match it.

The rules spare the newest output up to a number of tokens; the result that exceeds it, and all earlier ones, are
cleared. OpenCode also spares two user turns (packages/opencode/src/session/compaction.ts). Claude Code's rule was
inferred from its records, which name every cleared result. Both assume four characters per token, and neither clears
the output of the skill tool.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.compaction_forecast import compaction_forecasts
from inspector.replay.analysis.without_compaction import first_call_after
from inspector.replay.engine.plan_edits import CLEARED, results_by_call_id
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import ReplaceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History

_CHARACTERS_PER_TOKEN = 4
"""Characters per token assumed by agents, in their rules and in recorded savings."""


_NEVER_CLEARED = "skill"


@dataclass(frozen=True, slots=True)
class RecordedCut:
    """One compaction, full or partial.

    Attributes:
        call: The first call after it.
        what: Compared quantity: `context before`, `context after`, `tokens saved` or `results blanked`.
        results: Results that were cleared; 0 for a full compaction.
        missing: The number of these that are not in the file.
        recorded: Tokens reported by the agent or the provider, or the number of results.
        replayed: Tokens by our replay; for savings, by the agent's estimation rule; for results, the number that its
            clearing rule selects here.
        measured: Tokens on the provider's scale if `replayed` uses the agent's rule; otherwise None.
        alike: Number of results that both the agent and the replay clear; None if tokens are compared.
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
        """Relative error of the replay."""
        return self.replayed / self.recorded - 1 if self.recorded else None


def recorded_cuts(baseline: Replay) -> tuple[RecordedCut, ...]:
    """Return every cut that a session's agent made and quantified, in order."""
    found = [*_partial(baseline), *_same_results(baseline), *_full(baseline), *_left(baseline)]
    return tuple(sorted(found, key=lambda cut: cut.call))


def _partial(baseline: Replay) -> Iterator[RecordedCut]:
    inputs, session = baseline.inputs, baseline.history.session
    results = results_by_call_id(baseline.history)
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
    """Compare the cleared results with those selected by our rule."""
    session = baseline.history.session
    responses = [call.response for call in session.calls]
    gone: set[str] = set()
    for compaction in session.compactions:
        named = set(compaction.cleared_tool_call_ids) - gone
        rule = CLEAR_RULES.get(session.format)
        if not compaction.is_partial or not named or rule is None:
            continue
        ours = cleared_by(rule, baseline.history, compaction.message) - gone
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
    """Compare the contexts left by full compactions with the report of the first call after them."""
    inputs, session = baseline.inputs, baseline.history.session
    if not session.compactions:
        return
    counted = inputs.layout.whole_tokens - inputs.recorded_removed
    shown = inputs.scale.ratio * counted + inputs.layout.uncounted_in_prompts
    for index, compaction in enumerate(session.compactions):
        call = None if compaction.is_partial else first_call_after(session, index)
        before = -1 if call is None else int(inputs.previous_call[call])
        if call is None or before < 0 or not (inputs.reported[call] and inputs.reported[before]):
            continue
        # Unrecorded text that accumulates during a context is removed with it; text from its start remains.
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


class ClearRule(NamedTuple):
    """Output that an agent spares when it clears a context in part.

    Attributes:
        tokens: The newest output, in tokens of four characters.
        turns: User turns, including the newest, that are spared entirely.
    """

    tokens: int
    turns: int


CLEAR_RULES: Final[Mapping[str, ClearRule]] = {"claude-code": ClearRule(40_000, 0), "opencode": ClearRule(40_000, 2)}
"""By session format."""


def cleared_by(rule: ClearRule, history: History, message: int) -> set[str]:
    """Return the ids of calls with results that the rule clears before a message.

    Args:
        rule: Output to spare.
        history: The session's columns.
        message: The message that follows the clearing.
    """
    session = history.session
    responses = [call.response for call in session.calls]
    last = bisect_left(responses, message) - 1
    if last < 0:
        return set()
    held = [block for block in history.prompt(last).tolist() if history.message[block] < message]
    first_block = history.message_first_block
    since = range(int(first_block[responses[last]]), int(first_block[min(message, len(session.messages))]))
    spared, turns = 0, 0
    cleared: set[str] = set()
    for index in reversed([*held, *since]):
        block = session.blocks[index]
        turns += block.kind is BlockKind.USER_TEXT
        if block.kind is not BlockKind.TOOL_RESULT or turns < rule.turns or block.tool_name.lower() == _NEVER_CLEARED:
            continue
        spared += round(block.characters / _CHARACTERS_PER_TOKEN)
        if spared > rule.tokens:
            cleared.add(block.tool_call_id)
    return cleared
