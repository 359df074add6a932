"""Find later uses of cut text, and price the re-fetches that a plan is expected to cause.

A *need* is the first use of a result (`reuse`) after the plan removed the used text from the prompt. Needs point to
text worth checking. They are found by matching text and are not priced: about one in four appears equally for results
that are already gone, and many re-reads are found by no detector (docs/evidence.md).

The price of a plan's risk is that of its expected re-fetches (`refetches`), measured on real cuts. Net savings are a
range, [saved - upper end, saved - lower end], and plans are ranked by the lower end. All figures are projections.

A repeated read or command does not count as a need if its earlier result was still in the recorded prompt: it happened
with the result available, and would happen under the plan too. It counts as a repeat.

Expected re-fetches of a plan, from the rates at which agents fetched cut results again.

The rates were measured on 311 recorded cuts in 216 public sessions (docs/development/recorded-cuts.md): the share of
cut results that the agent fetched again within 30 calls, less the share for results of the same kind and age still in
the prompt. Intervals are 95 %, by resampling sessions.

A recovered result ages and is cut again, so a rate r stands for r + r² + … = r / (1 - r) re-fetches.

Distance of a plan from settings that have been tried in public.

Public experiments and shipped defaults cover a part of all settings:

- results older than ten turns masked: 2,496 pairs on SWE-bench Verified (arXiv 2508.21433);
- the newest 40,000 tokens of results kept (Claude Code, OpenCode);
- large results cut on arrival to no less than 30,000 characters or 10,000 tokens (Claude Code, Codex).

After 311 recorded cuts, one in three file reads cut within five calls was fetched again, one in eighteen after twenty;
commands and searches were not (`refetches`). A plan inside this envelope can be recommended, others are untested.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from math import ceil, isnan
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec
import numpy as np

from inspector.replay.analysis.hazards import Hazard, HazardKind, drops_text
from inspector.replay.analysis.plan_outcome import NOTHING, Savings, savings_of
from inspector.replay.analysis.reuse import NeedKind, ReuseEvidence
from inspector.replay.engine.simulation import recorded_clearing
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.rates import RateColumn
from inspector.replay.quantity import Count, FigureResult, Known, Unit, about, figure
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action, Slice
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.memo import cached_per_history
from inspector.strategies.history.reads import path_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from inspector.replay.engine.edits import EditedSession
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable


CHANGES: Final = (ToolKind.EDIT, ToolKind.WRITE)


_MAY_BE_CUT = np.isin(np.arange(len(BlockKind)), (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.THINKING))


class CallsByThread(NamedTuple):
    """Calls in the order of their thread, so that ages and durations count calls of one conversation.

    Attributes:
        order: Calls sorted by thread, then by index, int64.
        position: Per call, its place in `order`, int64.
        end: Per call, the place in `order` after the last call of its thread, int64.
        keys: Thread and call of each entry of `order` as one sortable integer, int64.
    """

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    end: NDArray[np.int64]
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, threads: NDArray[np.int32]) -> CallsByThread:
        order = np.argsort(threads, kind="stable").astype(np.int64)
        position = np.empty_like(order)
        position[order] = np.arange(len(order))
        end = np.searchsorted(threads[order], threads, side="right").astype(np.int64)
        return cls(order, position, end, _thread_keys(threads[order], order))

    def next_of(self, thread: NDArray[np.int32], call: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the first call of each thread from a call on, -1 if there is none."""
        key = _thread_keys(thread, call.astype(np.int64))
        place = np.searchsorted(self.keys, key)
        found = np.append(self.keys, -1)[place]
        is_there = (place < len(self.keys)) & (found >> 32 == thread)
        return np.where(is_there, np.append(self.order, -1)[place], -1).astype(np.int32)


@cached_per_history
def _calls_by_thread(history: History) -> CallsByThread:
    return CallsByThread.of(history.call_thread)


def _thread_keys(thread: NDArray[np.int32], call: NDArray[np.int64]) -> NDArray[np.int64]:
    return (thread.astype(np.int64) << 32) + call


class PlanCuts(NamedTuple):
    """Cuts of tool results, tool calls and thinking blocks under a plan, by block, then call.

    A block that is cut in several steps has a row for each. Rows that leave a block as long as before, or restore text,
    are not cuts. Rows that no prompt includes are not cuts either.

    Attributes:
        block: Block index, int32.
        call: First call that sends it with the cut, the number of calls for the next one, int32.
        age: Calls of its thread since it was first sent; 0 if no prompt ever had it whole, int64.
        share: Share of its tokens that the cut takes, 0 to 1, float64.
        kept_characters: Characters that stay, int64.
        newer_tokens: Tokens of tool results after it in that prompt, int64.
        is_result: Tool result, otherwise a call or thinking of the agent, bool.
        is_read: Result of a file read with a known path, bool.
        is_superseded: Such a read whose file was read again or changed before the cut, bool.
    """

    block: NDArray[np.int32]
    call: NDArray[np.int32]
    age: NDArray[np.int64]
    share: NDArray[np.float64]
    kept_characters: NDArray[np.int64]
    newer_tokens: NDArray[np.int64]
    is_result: NDArray[np.bool_]
    is_read: NDArray[np.bool_]
    is_superseded: NDArray[np.bool_]

    @classmethod
    def of(cls, replay: Replay | EditedSession) -> PlanCuts:
        history, edits = replay.history, replay.edits
        before = np.minimum(edits.previous_tokens, replay.table.tokens[edits.block])
        rows = np.flatnonzero(
            edits.by_plan & ((edits.tokens < before) | (edits.removals > 0)) & _MAY_BE_CUT[history.kind[edits.block]]
        )
        threads = _calls_by_thread(history)
        block = edits.block[rows]
        call = threads.next_of(history.message_thread[history.message[block]], edits.call[rows])
        is_sent = call >= 0
        rows, block, call = rows[is_sent], block[is_sent], call[is_sent]
        tokens = np.maximum(replay.table.tokens[block], 1)
        is_result = history.kind[block] == BlockKind.TOOL_RESULT
        superseded_at = _superseded_at(history)[block]
        return cls(
            block=block,
            call=call,
            age=np.maximum(threads.position[call] - threads.position[history.enters[block]], 0),
            share=np.clip((before[rows] - edits.tokens[rows]) / tokens, 0.0, 1.0),
            kept_characters=np.rint(history.characters[block] * np.minimum(edits.tokens[rows] / tokens, 1.0)).astype(
                np.int64
            ),
            newer_tokens=_newer_tokens(replay, block, call),
            is_result=is_result,
            is_read=(superseded_at >= 0) & is_result,
            is_superseded=(superseded_at >= 0) & (superseded_at <= call),
        )


def _newer_tokens(
    replay: Replay | EditedSession, block: NDArray[np.int32], call: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return the tokens of tool results after a block in the prompt of a call."""
    history = replay.history
    running = _running_tokens(history, replay.table)
    last = history.message_first_block[history.call_last_message[call] + 1] - 1
    newer: NDArray[np.int64] = np.maximum(running[last] - running[block], 0)
    return newer


@cached_per_history
def _running_tokens(history: History, table: TokenTable) -> NDArray[np.int64]:
    """Return a running sum of the tokens of each thread's tool results, per block."""
    tokens = np.where(history.kind == BlockKind.TOOL_RESULT, table.tokens, 0)
    # Blocks of a thread are in sent order.
    order = np.argsort(history.message_thread[history.message], kind="stable")
    running = np.empty(len(order), dtype=np.int64)
    running[order] = np.cumsum(tokens[order])
    return running


@cached_per_history
def _superseded_at(history: History) -> NDArray[np.int32]:
    """Return, per block, the call at which its file is used again; -1 unless it is the result of a read of a file."""
    blocks, session = history.session.blocks, history.session
    uses = tool_kind_mask(history.tool_names, (ToolKind.READ, *CHANGES))
    reads = tool_kind_mask(history.tool_names, (ToolKind.READ,))
    results = history.results_of(uses)
    results = results[history.call_block[results] >= 0]
    paths = path_of.each(session, [blocks[each] for each in history.call_block[results].tolist()])
    used_at: dict[str, list[int]] = defaultdict(list)
    for result, path in zip(results.tolist(), paths, strict=True):
        if path:
            used_at[path].append(int(history.enters[result]))
    for times in used_at.values():
        times.sort()
    superseded_at = np.full(len(blocks), -1, dtype=np.int32)
    for result, path in zip(results.tolist(), paths, strict=True):
        if path and reads[history.tool[result]]:
            times = used_at[path]
            later = bisect_right(times, int(history.enters[result]))
            superseded_at[result] = times[later] if later < len(times) else NEVER
    return superseded_at


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


def envelope(replay: Replay | EditedSession, cuts: PlanCuts | None = None) -> Envelope:
    """Compare a plan's cuts on a session with what has been tried in public."""
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


class Rate(NamedTuple):
    """Share of cut results that are fetched again because of the cut: estimate and 95 % interval."""

    rate: float
    low: float
    high: float


class MeasuredRate(NamedTuple):
    """A rate measured on recorded cuts by `scripts/real_cuts.py`; `cuts` is their number, None if not reported."""

    rate: Rate
    cuts: int | None
    date: str = "2026-11-28"
    source: str = "311 cuts in 216 public sessions of Claude Code, Codex, pi, Copilot and OpenCode"


READS: Final = (
    (3, MeasuredRate(Rate(0.359, 0.217, 0.488), 114)),
    (5, MeasuredRate(Rate(0.334, 0.211, 0.462), 173)),
    (20, MeasuredRate(Rate(0.151, 0.086, 0.224), 348)),
)
"""Rates of file reads by the maximum age in calls at the cut. The second sample includes the first."""

OLD_READS: Final = MeasuredRate(Rate(0.057, 0.031, 0.084), 1_664)
"""Rate of file reads cut at a higher age."""

LARGE_READS: Final = MeasuredRate(Rate(0.160, 0.098, 0.225), None)
"""File reads of more than `LARGE_CHARACTERS`, at any age: measured by tokens, on results of all kinds."""

LARGE_CHARACTERS: Final = 16_000

COMMANDS: Final = MeasuredRate(Rate(0.0, 0.0, 0.016), 586)
"""Commands, -0.3 % (-1.9 to 1.6 %), and searches, 0 % of 131."""

OTHER: Final = MeasuredRate(Rate(0.058, 0.015, 0.094), 353)
"""Results of other tools, as for cleared results of all kinds."""

CALLS_PER_REFETCH: Final = 247 / 341
"""Extra calls per re-fetched result: several results share a call."""

WITHIN: Final = 5
"""Calls between a cut and its priced re-fetch: half of them come within five."""


@dataclass(frozen=True, slots=True)
class Refetches:
    """Expected re-fetches of a plan on a session. All figures are projections.

    Attributes:
        count: Expected re-fetched results: estimate and 95 % interval.
        per_100_calls: The same for extra calls, in 100 calls of the session.
        cost: Their cost in dollars; None without a price.
        is_measured: False if the plan cuts no tool result, so that no rate applies.
        cost_at: Dollars expected at each call that has any; empty without a price.
    """

    count: Rate
    per_100_calls: Rate
    cost: Rate | None
    is_measured: bool
    cost_at: Mapping[int, float] = field(default_factory=dict)

    @property
    def is_few(self) -> bool:
        """True if they are few enough for a recommendation."""
        return self.per_100_calls.rate <= MOST_PER_100_CALLS

    def net_range(self, saved: float | None) -> tuple[float, float] | None:
        """Return a saving in dollars after re-fetches, at worst and at best; None without a price."""
        if saved is None or self.cost is None:
            return None
        return float(saved) - self.cost.high, float(saved) - self.cost.low


NO_REFETCHES: Final = Refetches(Rate(0.0, 0.0, 0.0), Rate(0.0, 0.0, 0.0), Rate(0.0, 0.0, 0.0), is_measured=False)
"""Result for a plan that cuts nothing."""


def expected_refetches(replay: Replay, cuts: PlanCuts | None = None) -> Refetches:
    """Sum the rates of all results that a plan cuts, and price the re-fetches."""
    found = PlanCuts.of(replay) if cuts is None else cuts
    calls = replay.history.call_count
    # A cut that only the next call would show saves nothing so far, and costs nothing.
    results = found.is_result & (found.call < calls)
    if not results.any():
        return NO_REFETCHES
    rates = _rates(replay, found)[:, results] * found.share[results]
    rates = rates / (1 - rates)
    count = Rate(*rates.sum(axis=1).tolist())
    per_100 = Rate(*(100 * CALLS_PER_REFETCH * each / calls for each in count))
    at, each_usd = _costs(replay, found.block[results], found.call[results], found.age[results])
    usd = (rates * each_usd).sum(axis=1)
    if isnan(float(usd[0])):
        return Refetches(count, per_100, None, is_measured=True)
    by_call = np.bincount(at, rates[0] * each_usd).tolist()
    cost_at = {call: cost for call, cost in enumerate(by_call) if cost}
    return Refetches(count, per_100, Rate(*usd.tolist()), is_measured=True, cost_at=cost_at)


def _rates(replay: Replay, cuts: PlanCuts) -> NDArray[np.float64]:
    """Return the rate, its low and high end for every cut; shape (3, cuts)."""
    history = replay.history
    tool = history.tool[cuts.block]
    quiet = tool_kind_mask(
        history.tool_names, (ToolKind.SHELL, ToolKind.SEARCH, ToolKind.CONFIRMATION, ToolKind.LIGHT, *CHANGES)
    )[tool]
    measured = (*(each for _, each in READS), OLD_READS, COMMANDS, OTHER, LARGE_READS)
    table = np.array([each.rate for each in measured])
    group = np.searchsorted([age for age, _ in READS], cuts.age, side="right")
    group = np.where(cuts.is_read, group, np.where(quiet, len(READS) + 1, len(READS) + 2))
    rates = table[group].T
    is_large = cuts.is_read & (history.characters[cuts.block] > LARGE_CHARACTERS)
    return np.where(is_large, np.maximum(rates, table[-1][:, np.newaxis]), rates)


def _costs(
    replay: Replay, block: NDArray[np.int32], call: NDArray[np.int32], age: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the call of each re-fetch, and its dollars.

    Each costs its share of one more call, a cache write of its text, and cache reads until it is as old as the result
    was at the cut.
    """
    count = replay.history.call_count
    ledger, rates, ratio = replay.ledger, replay.inputs.rates, replay.inputs.sizes.ratio[:count]
    read, other = rates.read_and_other(ledger)
    rate = rates.of_prompts(ledger.prompt_tokens)
    is_cached = (ledger.cache_read + ledger.cache_write) > 0
    again = ledger.prompt_tokens * np.where(is_cached, read, other)
    extra_call = again + usual_output(replay) * rate[:, RateColumn.OUTPUT] + rate[:, RateColumn.PER_CALL]
    threads = CallsByThread.of(replay.history.call_thread[:count])
    staying = (np.where(ledger.cache_read > 0, read, other) * ratio)[threads.order]
    stay = np.concatenate(([0.0], np.cumsum(staying)))
    end = threads.end[call]
    place = np.minimum(threads.position[call] + WITHIN, end - 1)
    at = threads.order[place]
    until = np.minimum(place + np.maximum(age, 1), end)
    tokens = replay.table.tokens[block]
    costs: NDArray[np.float64] = CALLS_PER_REFETCH * extra_call[at] + tokens * (
        ratio[at] * other[at] + stay[until] - stay[place + 1]
    )
    return at, costs


def usual_output(replay: Replay) -> float:
    """Return the median tokens of the session's responses that call a tool; 0.0 if there are none."""
    history = replay.history
    asking = np.zeros(len(history.session.messages), dtype=bool)
    asking[history.message[history.kind == BlockKind.TOOL_CALL]] = True
    responses = np.array([call.response for call in history.session.calls], dtype=np.int64)
    outputs = replay.inputs.output[asking[responses]] if len(responses) else replay.inputs.output
    return float(np.median(outputs)) if len(outputs) else 0.0


class Need(NamedTuple):
    """The first use of a tool result after a plan removed the used text from the prompt.

    Attributes:
        kind: Detector of the use.
        block: Block index of the result.
        removed_at: First call without the used text under the plan.
        call: The call with a response that used it.
        use: Block index of the use in that response.
        start: Start of the used text in the result, in characters.
        use_start: Start of the use in that block's text, in characters; for a tool call, in the JSON of its input.
    """

    kind: NeedKind
    block: int
    removed_at: int
    call: int
    use: int
    start: int
    stop: int
    use_start: int
    use_stop: int


EvidenceReason = Annotated[
    str, about("Where the plan goes beyond tried settings, with the nearest tried one; empty for a tried plan.")
]


class NeededLater(FigureResult, frozen=True, kw_only=True):
    """Cut text that later calls of the session used, and the projected cost of recovering it."""

    calls: Annotated[
        Count,
        figure(
            "later calls that needed cut text",
            Unit.COUNT,
            (
                "Calls with a response that used part of a result the plan had cut by then, the first such use of each "
                "result: the number of recoveries."
            ),
            short="needed",
        ),
    ]
    results: Annotated[Count, figure("results needed", Unit.COUNT, "Tool results that later calls needed.")]
    exact_text: Annotated[
        Count,
        figure(
            "exact text",
            Unit.COUNT,
            "Of these, results needed by an edit because no other text contained its old text.",
        ),
    ]
    fault: Annotated[
        Count,
        figure(
            "fault",
            Unit.COUNT,
            "Of these, results read or run again after the recorded prompt had lost them too, with no write in "
            "between.",
        ),
    ]
    anchor: Annotated[
        Count,
        figure(
            "anchor",
            Unit.COUNT,
            "Of these, results that were the only source of a path, symbol or line in a tool call.",
        ),
    ]
    citation: Annotated[
        Count,
        figure("citation", Unit.COUNT, "Of these, results that were the only source of a word the model wrote later."),
    ]
    repeats_anyway: Annotated[
        Count,
        figure(
            "repeated anyway",
            Unit.COUNT,
            "Cut results read or run again although the recorded prompt still held them: not counted above.",
            short="anyway",
        ),
    ]
    recoveries_usd: Annotated[
        float | None,
        figure(
            "re-fetches",
            Unit.DOLLARS,
            (
                "Dollars of the expected re-fetches: the calls, and the results written to the cache again and read "
                "until they are cut again; null without a price."
            ),
        ),
    ]
    cost_each_usd: Annotated[
        float | None,
        figure(
            "cost of a re-fetch",
            Unit.DOLLARS,
            "Average dollars of one re-fetch; null if none is expected, or without a price.",
            short="each",
        ),
    ]
    saved_at_least_usd: Annotated[
        float | None,
        figure(
            "net saving, at worst",
            Unit.DOLLARS,
            "Dollars the plan saves minus the upper end of the cost of expected re-fetches; plans are ranked by it. "
            "Null without a price.",
            short="net",
            saves=True,
        ),
    ]
    break_even_recoveries: Annotated[
        int | None,
        figure(
            "break-even re-fetches",
            Unit.COUNT,
            "The smallest number of re-fetches that cost as much as the plan saves; null if there is none, or no "
            "saving.",
            short="break-even",
        ),
    ]
    saved_at_most_usd: Annotated[
        float | None,
        figure(
            "net saving, at best",
            Unit.DOLLARS,
            "Dollars the plan saves minus the lower end of the cost of expected re-fetches; null without a price.",
            saves=True,
        ),
    ] = None
    refetches: Annotated[
        float | None,
        about(
            "Cut results that the agent is expected to fetch again because of the cuts, by rates measured on 311 "
            "recorded cuts; null if the plan cuts no tool result: not measured."
        ),
    ] = None
    refetches_low: Annotated[float | None, about("Lower end of its 95 % interval.")] = None
    refetches_high: Annotated[float | None, about("Upper end of its 95 % interval.")] = None
    evidence: Annotated[
        str, about("`tried` if settings like these have been tried in public on such a session, otherwise `beyond`.")
    ] = "tried"
    evidence_reason: EvidenceReason = ""
    known: Known = msgspec.field(default_factory=dict)


_ENDS: Final = ("", "_low", "_high")


@dataclass(frozen=True)
class Recoveries:
    """Recoveries that a plan would need on a session, with prices. All figures are estimates.

    Attributes:
        needs: The first need of every needed result, in call order. They point to text worth checking; the price comes
            from `expected`.
        repeats_anyway: Repeated reads and commands after the plan cut their result, while it was still in the recorded
            prompt.
        saved: Dollars the plan saves without recoveries, negative if it costs more; None without a price.
        expected: Expected re-fetches.
        envelope: Distance from settings that have been tried in public.
        drops_text: The plan drops user or assistant text, and no rate of re-fetches covers that.
    """

    needs: tuple[Need, ...]
    repeats_anyway: int
    saved: float | None
    expected: Refetches = NO_REFETCHES
    envelope: Envelope = TRIED
    drops_text: bool = False

    @cached_property
    def net(self) -> tuple[float | None, float | None]:
        """Net savings in dollars at the worst and the best end; None without a price."""
        return self.expected.net_range(self.saved) or (None, None)

    @property
    def needed(self) -> int:
        """Number of calls with a need."""
        return len(self.calls)

    @property
    def cost(self) -> float | None:
        """Dollars of the expected re-fetches, 0.0 if there are none; None without a price."""
        return None if self.net[0] is None or self.expected.cost is None else self.expected.cost.rate

    @property
    def cost_at(self) -> Mapping[int, float]:
        """Dollars of the re-fetches expected at each call; empty without a price."""
        return {} if self.cost is None else self.expected.cost_at

    @cached_property
    def later(self) -> NeededLater:
        """Its figures, with the text that was needed later."""
        count, cost, (low, high) = self.expected.count, self.cost, self.net
        each = None if cost is None or not count.rate else cost / count.rate
        values = {
            "calls": self.needed,
            "results": len(self.needs),
            **{kind.name.lower(): number for kind, number in self.kinds.items()},
            "repeats_anyway": self.repeats_anyway,
            "recoveries_usd": cost,
            "cost_each_usd": each,
            "saved_at_least_usd": low,
            "break_even_recoveries": recoveries_to_break_even(self.saved, each),
            "saved_at_most_usd": high,
        }
        if self.expected.is_measured:
            values |= {f"refetches{end}": round(end_count, 1) for end, end_count in zip(_ENDS, count, strict=True)}
        # Shared words are evidence of use, not a record of it.
        return NeededLater.of(
            **{name: Figure(value, HowKnown.ESTIMATED) for name, value in values.items()},
            evidence=self.envelope.evidence.value,
            evidence_reason=self.envelope.reason,
        )

    @property
    def cost_at_worst(self) -> float:
        """Dollars of the expected re-fetches at the upper end; 0.0 without a price."""
        cost = self.expected.cost
        return 0.0 if self.cost is None or cost is None else cost.high

    @property
    def refetched(self) -> Rate | None:
        """Expected re-fetched results; None if the plan cuts no tool result, so that nothing is measured."""
        return self.expected.count if self.expected.is_measured else None

    @property
    def is_sure(self) -> bool:
        """True if the plan saves over its whole net range, which is known (`is_net_sure`)."""
        return is_net_sure(self.net[0], self.expected, drops_text=self.drops_text)

    @property
    def is_recommendable(self) -> bool:
        """True if the plan can be recommended: tried, and of low risk."""
        return self.envelope.is_tried and self.is_low_risk

    @property
    def is_low_risk(self) -> bool:
        """True if few re-fetches are expected, and the plan saves at twice as many."""
        saves = self.saved is None or self.cost is None or self.saved - 2 * self.cost > 0
        return self.expected.is_few and saves

    @cached_property
    def calls(self) -> tuple[int, ...]:
        """Calls with a need, in order."""
        return tuple(dict.fromkeys(need.call for need in self.needs))

    @cached_property
    def by_block(self) -> Mapping[int, Need]:
        """Needs by the needed result."""
        return {need.block: need for need in self.needs}

    @cached_property
    def kinds(self) -> Mapping[NeedKind, int]:
        """Number of needed results by detector, with every kind in the order of `NeedKind`."""
        return {kind: sum(need.kind is kind for need in self.needs) for kind in NeedKind}


NO_RECOVERIES: Final = Recoveries((), 0, None)
"""Placeholder where later uses were not searched."""


class Exclusion(Enum):
    """Reason not to recommend a plan, the most serious first.

    Attributes:
        short: Predicate for legends and one-line texts: `leaves out messages`.
        long: Clause for details: `it leaves out user or assistant messages`.
    """

    DROPS_TEXT = "leaves out messages", "it leaves out user or assistant messages"
    REJECTED = "would be rejected", "a provider would reject it"
    UNTESTED = "untested", "it is untested"
    REFETCHES = "has too many re-fetches", f"it has {TOO_MANY_REFETCHES}"

    def __init__(self, short: str, long: str) -> None:
        self.short = short
        self.long = long

    def in_full(self, evidence: str = "") -> str:
        """Return the clause, for an untested plan with the setting that has not been tried (`Envelope.reason`)."""
        return f"{self.long}: {evidence}" if self is Exclusion.UNTESTED and evidence else self.long

    @classmethod
    def of(cls, found: Recoveries | None, hazards: Iterable[Hazard], *, drops_text: bool) -> Exclusion | None:
        """Return why a plan is never recommended; None if it may be.

        Args:
            found: Its recoveries; None until computed.
            hazards: Its hazards.
            drops_text: It removes or replaces user or assistant text.
        """
        if drops_text:
            return cls.DROPS_TEXT
        if any(hazard.kind is HazardKind.ORPHANED_PAIR for hazard in hazards):
            return cls.REJECTED
        if found is None or (found.envelope.is_tried and found.expected.is_few):
            return None
        return cls.REFETCHES if found.envelope.is_tried else cls.UNTESTED


def is_net_sure(low: float | None, expected: Refetches, *, drops_text: bool) -> bool:
    """Return True if the whole net range of a saving is known and positive, so that it can be green.

    Args:
        low: Lower end of the net savings in dollars; None without a price.
        expected: Expected re-fetches of the plan; without a rate for its cuts, the range is unknown.
        drops_text: The plan drops user or assistant text, for which there is no rate.
    """
    return low is not None and low > 0 and expected.is_measured and not drops_text


def recoveries_to_break_even(saved: float | None, each: float | None) -> int | None:
    """Return the recoveries (of `each` dollars) that cost as much as is saved; None without savings or a price."""
    return ceil(saved / each - NOTHING) if each and saved is not None and saved > NOTHING else None


def recoveries(baseline: Replay, planned: Replay, uses: ReuseEvidence) -> Recoveries:
    """Find and price the recoveries of a plan on a session."""
    cuts, saved = PlanCuts.of(planned), savings_of(baseline.figures, planned.figures).usd.value
    return Recoveries(
        *_needs(planned, uses),
        saved,
        expected_refetches(planned, cuts),
        envelope(planned, cuts),
        drops_text(planned),
    )


def net_share(savings: Savings, found: Recoveries) -> float | None:
    """Return the savings after recovering everything needed, as a share of `savings.share_of`.

    Without a price, these are the plain savings if few re-fetches are expected, and None otherwise.
    """
    share, usd = savings.share.value, savings.usd.value
    if share is None:
        return None
    low, _ = found.net
    if not usd or low is None:
        return share if found.expected.is_few else None
    return share * low / usd


def _needs(replay: Replay, uses: ReuseEvidence) -> tuple[tuple[Need, ...], int]:
    """Return the needs in call order, and the number of repeats with the result still in the recorded prompt."""
    history, edits = replay.history, replay.edits
    touched = np.zeros(len(history.kind), dtype=bool)
    touched[edits.block[edits.by_plan & (edits.action != Action.WHOLE)]] = True
    known = uses.call < history.call_count
    blocks, calls = uses.block[known], uses.call[known]
    gone = _recorded_end(history)[blocks]
    same_thread = history.call_thread[calls] == history.message_thread[history.message[blocks]]
    there, is_fault = calls < gone, uses.kind[known] == NeedKind.FAULT
    suspects = np.flatnonzero(touched[blocks] & (calls >= history.enters[blocks]) & same_thread & (there | is_fault))
    in_force = edits.rows(blocks[suspects], np.minimum(calls, gone - 1)[suspects].astype(np.int32))
    needs: dict[int, Need] = {}
    repeats_anyway = 0
    for row, change in zip(suspects.tolist(), in_force.tolist(), strict=True):
        block, start, stop = int(blocks[row]), int(uses.start[row]), int(uses.stop[row])
        is_anyway = bool(is_fault[row] and there[row])
        if change < 0 or (block in needs and not is_anyway) or not _is_cut(replay, change, start, stop):
            continue
        if is_anyway:
            repeats_anyway += 1
            continue
        needs[block] = Need(
            NeedKind(uses.kind[row]),
            block,
            _removed_at(replay, change, start, stop),
            int(calls[row]),
            int(uses.use[row]),
            start,
            stop,
            int(uses.use_start[row]),
            int(uses.use_stop[row]),
        )
    return tuple(sorted(needs.values(), key=lambda need: (need.call, need.block))), repeats_anyway


def _recorded_end(history: History) -> NDArray[np.int32]:
    """Return, per block, the first call with a recorded prompt that no longer contains it; int32."""
    end = history.leaves.copy()
    for call, choice in recorded_clearing(history):
        end[choice.block] = min(int(end[choice.block]), call)
    return end


def _is_cut(replay: Replay, change: int, start: int, stop: int) -> bool:
    """Return True if the plan made a change that removes some of these characters of its block's text."""
    edits = replay.edits
    if not edits.by_plan[change]:
        return False
    stack = edits.stacks[int(edits.stack[change])]
    pieces = replay.inputs.renderer.rendition(int(edits.block[change]), stack).pieces
    return not any(isinstance(piece, Slice) and piece.start <= start and stop <= piece.stop for piece in pieces)


def _removed_at(replay: Replay, change: int, start: int, stop: int) -> int:
    """Return the call that first leaves out these characters of a changed block."""
    edits = replay.edits
    while change > 0 and edits.block[change - 1] == edits.block[change] and _is_cut(replay, change - 1, start, stop):
        change -= 1
    return int(edits.call[change])
