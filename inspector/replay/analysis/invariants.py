"""Invariants of every session in every format, checked by `inspector check` and by a test.

- No share of a prompt is negative, and the parts of a prompt, and of all prompts, add up to the whole.
- No prompt is replayed as empty if its provider reports tokens for it, unless it is flagged: the file records none of
  its contents (`blank_prompts`).
- No block is larger than the largest prompt.
- A session followed while its file grew equals one loaded at once.
- Usage equals a count that shares no code with the format's reader.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.replay.analysis.context_blocks import context_at
from inspector.replay.analysis.context_breakdown import Grouping, Scope, context_breakdown
from inspector.replay.analysis.prompt_overhead import AROUND_TEXTS, EARLIER, NOT_RECORDED
from inspector.replay.analysis.resend_cost import resend_cost
from inspector.session.follow_check import compare_followed
from inspector.session.independent_usage import independent_totals, totals_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.replay.engine.replay import Replay
    from inspector.session.model import Session

NEAR = 2.0
"""Tolerance in tokens for sums of rounded figures."""

MOST_CALLS = 50
"""Prompts per session to check, evenly spread; the last one of every context is added."""


class Invariant(StrEnum):
    """An invariant, with its description."""

    SHARES = "no share is negative"
    SUMS = "parts add up"
    EMPTY = "no reported prompt is replayed as empty"
    LARGEST = "no block exceeds the largest prompt"
    GROWTH = "followed equals loaded"
    USAGE = "usage equals an independent count"


class Violation(NamedTuple):
    """A violated invariant.

    Attributes:
        invariant: The invariant.
        call: The affected call; -1 if it concerns no call.
        detail: Description of the deviation, without session content.
    """

    invariant: Invariant
    call: int
    detail: str


def violations_in_file(session: Session) -> tuple[Violation, ...]:
    """Compare a session with its file, which is read again, and return the violations.

    Raises:
        TemporaryFolderError: There is no temporary folder for a growing copy.
    """
    found: list[Violation] = []
    if differs := compare_followed(session.path):
        found.append(Violation(Invariant.GROWTH, -1, f"{differs} differ"))
    try:
        plain = independent_totals(session)
    except OSError:
        plain = None
    if plain is not None and plain != (ours := totals_of(session)):
        named = zip(plain._fields, ours, plain, strict=True)
        detail = ", ".join(f"{name} {mine:,}, independent count {theirs:,}" for name, mine, theirs in named)
        found.append(Violation(Invariant.USAGE, -1, detail.replace("_", " ")))
    return tuple(found)


def violations_in_replay(baseline: Replay) -> tuple[Violation, ...]:
    """Return the violations in a session's replay without a plan, the first of each kind at each checked call.

    Args:
        baseline: The session replayed under an empty plan.
    """
    return (*_ledger(baseline), *_largest(baseline), *_prompts(baseline))


def _ledger(baseline: Replay) -> Iterator[Violation]:
    ledger, inputs = baseline.ledger, baseline.inputs
    served = (ledger.cache_read, ledger.cache_write_5m, ledger.cache_write_1h, ledger.uncached)
    for call in np.flatnonzero(np.minimum.reduce(served) < 0).tolist():
        yield Violation(Invariant.SHARES, call, "a negative number of tokens read, written or uncached")
    for call in np.flatnonzero(sum(served) != ledger.prompt_tokens).tolist():
        yield Violation(Invariant.SUMS, call, "tokens read, written and uncached do not add up to the prompt")
    for call in np.flatnonzero(inputs.reported & (ledger.prompt_tokens != inputs.recorded.prompt)).tolist():
        yield Violation(Invariant.SUMS, call, "without a plan, the replayed prompt differs from the reported one")


def _largest(baseline: Replay) -> Iterator[Violation]:
    inputs = baseline.inputs
    sent = np.unique(np.concatenate([context.blocks for context in inputs.layout.contexts] or [np.zeros(0, int)]))
    most = float(inputs.sizes.whole.max(initial=0.0))
    for block in sent[inputs.block_tokens[sent] > most + NEAR].tolist():
        yield Violation(
            Invariant.LARGEST, -1, f"block {block + 1:,}: {inputs.block_tokens[block]:,.0f} of at most {most:,.0f}"
        )


def _prompts(baseline: Replay) -> Iterator[Violation]:
    count = baseline.history.call_count
    resend = resend_cost(baseline)
    last_of_contexts = {int(context.calls[-1]) for context in baseline.inputs.layout.contexts if len(context.calls)}
    spread = set(np.linspace(0, count, MOST_CALLS, dtype=int).tolist())
    for call in sorted(last_of_contexts | spread):
        state = baseline.state(call)
        context = context_at(baseline, state)
        prompt = float(context.prompt.value or 0)
        if min(context.rest, context.rest - context.system, *context.sent.tolist()) < -NEAR:
            yield Violation(Invariant.SHARES, call, f"{context.rest:,.0f} of {prompt:,.0f} tokens are outside blocks")
        if abs(float(context.sent.sum()) + context.rest - prompt) > NEAR:
            yield Violation(Invariant.SUMS, call, "blocks and the rest do not add up to the prompt")
        breakdown = context_breakdown(baseline, state, resend, Grouping.ROLE, Scope.WINDOW)
        if abs(sum(part.tokens for part in breakdown.parts) - breakdown.everything.tokens) > NEAR:
            yield Violation(Invariant.SUMS, call, "the parts by role do not add up to the prompt")
        names = {part.name for part in breakdown.parts if not len(part.blocks) and part.tokens > NEAR}
        is_blank = call < count and not len(context.blocks) and bool(baseline.inputs.reported[call])
        if is_blank and not names <= {EARLIER, AROUND_TEXTS}:
            yield Violation(Invariant.EMPTY, call, f"{prompt:,.0f} tokens attributed to {NOT_RECORDED}")
    whole = context_breakdown(baseline, baseline.state(count), resend, Grouping.ROLE, Scope.SESSION)
    for part in whole.parts:
        if part.token_calls < -NEAR:
            yield Violation(Invariant.SHARES, -1, f"{part.name} of all prompts: {part.token_calls:,.0f} tokens")
    token_calls = sum(part.token_calls for part in whole.parts)
    if abs(token_calls - float(baseline.ledger.prompt_tokens.sum())) > NEAR * max(count, 1):
        yield Violation(Invariant.SUMS, -1, "the parts do not add up to all prompts")
