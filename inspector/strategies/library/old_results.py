"""Shorten or clear old tool results: the newest stay, older ones become a notice or are cut.

`clear-old` replaces them with a notice that has the id to query them by. Source: "Tool Result Compaction Implementation
Plan" (oldnordic/odincode, `src/llm/frame_stack.rs`). A cleared result stays cleared. The notice names the id under
which the full result can be queried; the source document itself records that not every id can. The variant `shipped`
adds a behavior of the program: it holds at most `frames` entries and forgets the oldest, including the user's goal.

The program has no tool messages. It sends every result as a user text in a fixed wording, including whole results.
Recorded user texts in that wording count as results here, with the tool and the success they state; texts already
cleared stay as they are. `whole-as` sends the remaining results in that wording. `notice` selects the wording of
cleared results: from the program's messages, from its single prompt, or from the document's first draft. With
`merge-texts`, adjacent model texts become one text, as the program appends a new text to the previous entry.

`prune-old` has two tiers: large results are trimmed to head and tail, all are cleared if their total is huge. Source:
`pruneOldToolResults` of inngest/utah (`src/agent-loop.ts`), as described in the document "Insertion-Time Tool Result
Trimming". It runs at the start of every iteration of the agent's loop after the third and changes the messages in
place. The six newest messages are spared, with every tool result as a separate message. The total that triggers
clearing is measured after the changes of earlier iterations. Lengths are in Python characters; the program counts
UTF-16 units, which differ for characters outside the basic plane.

The variant `projection` applies the same function to the recorded messages at every call and does not retain changes:
old results then count in full, and clearing happens sooner.

`tiered-stale` cuts stale results to a length that depends on the tool that produced them. A stale result is one the
model has seen and answered. It is cut to its first characters, fewer for a confirmation than for search results.
Results are fresh, and whole, while the prompt ends with them.

Source: the design "TO-3: Tiered Stale Tool Result Truncation" (12DDFF/Hynous). Its limits, tools, marker and definition
of fresh are the defaults. The variant `shipped` follows the same agent's released code (12DDFF/Hynous@e183781
`intelligence/agent.py`): only the very last result of the prompt is fresh, in any position, five more tools are
classified, and outdated state is dropped from the front of older questions.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, Role, Session, TextUnavailableError
from inspector.strategies.core.batching import CONTEXT_RESET, Batching, ScheduleBuilder
from inspector.strategies.core.operations import (
    Action,
    CutText,
    CutTokens,
    RemoveBlock,
    Rendition,
    ReplaceText,
    make_cut,
)
from inspector.strategies.core.parameters import TOKENS
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Schedule,
    choice,
    integer,
    limit_unit,
    string,
    switch,
    tools,
)
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.arrival_order import (
    FreshnessChanges,
    arrivals,
    freshness_changes,
    last_marked_messages,
    later,
    result_runs,
)
from inspector.strategies.history.memo import cached_per_history
from inspector.strategies.history.tools import TIER_OF_KIND, document_tier, tool_kind, tool_set_for, tools_of_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.conversation_items import ConversationItem
    from inspector.strategies.history.history import History


_ASSISTANT = (BlockKind.ASSISTANT_TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL)


_OPENING = "[Tool "
_WORDED = re.compile(r"\[Tool ([^\]\n]*)\]: (OK|FAILED)(?:\nResult: |( - \[Old tool result content cleared))")
_NOTICES = {
    "messages": "{identifier}. Use memory_query tool with session_id or execution_id to retrieve full details",
    "prompt": "{identifier}. Use memory_query tool to retrieve",
    "draft": " - use memory_query tool with execution_id to retrieve full details",
}


class _Outcome(NamedTuple):
    """A result's tool and status, and its form: as recorded, or whole or cleared in the program's wording."""

    tool: str
    status: str
    is_worded: bool
    is_cleared: bool


def _outcome_of(source: BlockSource) -> _Outcome:
    block = source.block
    worded = _WORDED.match(source.text()) if block.preview.startswith(_OPENING) else None
    if worded is not None:
        return _Outcome(worded.group(1), worded.group(2), is_worded=True, is_cleared=worded.group(3) is not None)
    return _Outcome(source.tool_name, "FAILED" if block.is_error else "OK", is_worded=False, is_cleared=False)


@dataclass(frozen=True, slots=True)
class ClearResult:
    """Replace a result with a notice (worded in `_NOTICES`) of the tool, its success and its id."""

    notice: str = "messages"

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Return the notice, or the rendition unchanged if the result is already cleared."""
        result = _outcome_of(source)
        if result.is_cleared:
            return rendition
        identifier = f" (execution_id: {source.block.tool_call_id})" if source.block.tool_call_id else ""
        cleared = f"[Old tool result content cleared{_NOTICES[self.notice].format(identifier=identifier)}]"
        return Rendition.replaced(f"[Tool {result.tool}]: {result.status} - {cleared}")


@dataclass(frozen=True, slots=True)
class AppendText:
    """Append the texts that follow directly to a text. `more`: the following texts, joined."""

    more: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:  # noqa: ARG002  same for every text
        return Rendition((*rendition.pieces, self.more), Action.CUT, rendition.kind)


@dataclass(frozen=True, slots=True)
class PrefixStatus:
    """Prefix a result with the tool and its success."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        result = _outcome_of(source)
        if result.is_worded:
            return rendition
        opening = f"[Tool {result.tool}]: {result.status}\nResult: "
        return Rendition((opening, *rendition.pieces), Action.CUT, rendition.kind)


@dataclass(frozen=True)
class ClearOld(Batching):
    """Replace all but the newest tool results with a notice."""

    name = "clear-old"
    title = "Clear old results"
    summary = "Keep the newest tool results and replace older ones with a notice that names their id."
    source = "Tool Result Compaction Implementation Plan, oldnordic/odincode src/llm/frame_stack.rs"
    note = (
        "With `variant=shipped` entries are removed one by one, as in the program, where results are user texts: a "
        "tool result may be sent without its call, which APIs refuse, or the list may begin with the assistant."
    )
    agent_settings = AgentSettings(
        {"keep": "MAX_RECENT_TOOL_RESULTS", "variant": "", "whole-as": "", "merge-texts": ""},
        constants=("frames", "notice"),
    )

    keep: int = integer(3, "Number of newest tool results kept.", "results", maximum=1_000)
    variant: str = choice(
        ("document", "shipped"),
        "The design document's rule, or also the program's entry limit (shipped).",
    )
    frames: int = integer(
        50,
        "Maximum texts and results if shipped; the oldest are removed first.",
        "entries",
        minimum=1,
        maximum=10_000,
    )

    whole_as: str = choice(
        ("recorded", "program"),
        "Results that stay: as recorded, or with tool and success first (program).",
    )
    notice: str = choice(
        tuple(_NOTICES),
        "Notice of the program's messages, its single prompt, or the first draft.",
        default="messages",
    )

    merge_texts: bool = switch(False, "Merge adjacent model texts into one, as the program does.")

    def schedule(self, history: History) -> Schedule:
        """Clear a result at the call that adds the last of the `keep` results after it."""
        builder = ScheduleBuilder(history)
        decision = Decision(ClearResult(self.notice), f"older than the newest {self.keep} results")
        results = _results(history)
        if self.whole_as == "program":
            blocks = np.flatnonzero(results).astype(np.int32)
            builder.add_at_insertion(blocks, Decision(PrefixStatus(), "in the program's wording"))
        for context in arrivals(history, results):
            cleared = context.blocks[: max(len(context.blocks) - self.keep, 0)]
            builder.add(cleared, context.calls[self.keep :], decision)
        if self.merge_texts:
            _add_merged(history, builder)
        if self.variant == "shipped":
            self._add_forgotten(history, builder, results)
        return builder.schedule()

    def _add_forgotten(self, history: History, builder: ScheduleBuilder, results: NDArray[np.bool_]) -> None:
        decision = Decision(RemoveBlock(), f"older than the newest {self.frames} entries", "frames")
        sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
        for context in arrivals(history, sent):
            kinds, messages = history.kind[context.blocks], history.message[context.blocks]
            result = results[context.blocks]
            assistant = np.isin(kinds, _ASSISTANT)
            starts = np.ones(len(kinds), dtype=np.bool_)
            # Consecutive assistant texts are one entry; so are the parts of one user message, results excluded.
            goes_on = (messages[1:] == messages[:-1]) | (assistant[1:] & assistant[:-1])
            starts[1:] = result[1:] | result[:-1] | ~goes_on
            frame = np.cumsum(starts) - 1
            builder.add(context.blocks, later(context.calls[starts], self.frames)[frame], decision)


def _add_merged(history: History, builder: ScheduleBuilder) -> None:
    """Merge adjacent model texts at the call that adds the later one."""
    gone = Decision(RemoveBlock(), "merged into the text before it", "merged")
    session = history.session
    sent = (history.kind != BlockKind.SYSTEM_TEXT) & (history.kind != BlockKind.OTHER)
    for context in arrivals(history, sent):
        is_text = history.kind[context.blocks] == BlockKind.ASSISTANT_TEXT
        retained = np.flatnonzero(is_text[: context.retained])
        builder.add(context.blocks[retained], context.calls[retained], CONTEXT_RESET)
        first, more = -1, ""
        places = zip(context.blocks.tolist(), context.calls.tolist(), is_text.tolist(), strict=True)
        for place, (block, call, goes_on) in enumerate(places):
            if not goes_on or not place or not is_text[place - 1]:
                first, more = block, ""
                continue
            try:
                more += session.text(session.blocks[block])
            except TextUnavailableError:
                first, more = block, ""
                continue
            builder.add_pairs([(first, call)], Decision(AppendText(more), "next text appended", "merged"))
            builder.add_pairs([(block, call)], gone)


def _results(history: History) -> NDArray[np.bool_]:
    """Return, per block, True for a tool result or a user text in the program's wording of one."""
    results: NDArray[np.bool_] = history.kind == BlockKind.TOOL_RESULT
    session = history.session
    for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
        recorded = session.blocks[block]
        if recorded.preview.startswith(_OPENING):
            try:
                results[block] = _WORDED.match(session.text(recorded)) is not None
            except TextUnavailableError:
                continue
    return results


PLACEHOLDER = "[Tool result cleared — old context]"
PRUNED_MARKER = "\n\n... [{removed} chars trimmed] ...\n\n"


@dataclass(frozen=True)
class PruneOld(Batching):
    """Trim large old results, and clear all old results once their total is too large."""

    name = "prune-old"
    title = "Prune old results in two tiers"
    summary = "Trim large old results to head and tail, and clear all old ones when their total is too large."
    source = "pruneOldToolResults, inngest/utah src/agent-loop.ts"

    keep_turns: int = integer(3, "Number of newest turns spared, two messages each.", "turns", maximum=100)
    from_iteration: int = integer(
        4, "First iteration since the user's question that prunes.", "iterations", maximum=100
    )
    threshold: int = integer(
        4_000, "Longest old result that stays whole.", "characters", maximum=1_000_000, group="trim"
    )
    head: int = integer(1_500, "Characters kept from the beginning.", "characters", maximum=500_000, group="trim")
    tail: int = integer(1_500, "Characters kept from the end.", "characters", maximum=500_000, group="trim")
    clear_above: int = integer(
        50_000,
        "Total size of old results above which all are cleared.",
        "characters",
        maximum=10_000_000,
        group="clear",
    )
    unit: str = limit_unit()
    variant: str = choice(
        ("in-place", "projection"),
        "Size of old results: as pruned (in-place), or as recorded (projection).",
    )

    def start(self, history: History) -> PruneOldRun:
        return PruneOldRun(self, history)


@dataclass
class _AgeingResults:
    """One conversation: its newest messages, and the current size of its old results."""

    iteration: int = 0
    newest: deque[ConversationItem] = field(default_factory=deque)
    aged: list[int] = field(default_factory=list)
    uncleared: list[int] = field(default_factory=list)
    count: int = 0
    characters: int = 0


class PruneOldRun(ThreadRun[PruneOld, _AgeingResults]):
    """A run of the pruning on one session."""

    measures_prompts = False
    keeps_changes = True

    def __init__(self, strategy: PruneOld, history: History) -> None:
        super().__init__(strategy, history)
        self._cleared: set[int] = set()

    def begin(self) -> _AgeingResults:
        return _AgeingResults()

    def begin_again(self, before: _AgeingResults) -> _AgeingResults:
        """Return the state of another prompt in the same iteration."""
        return _AgeingResults(before.iteration)

    def decide(self, state: _AgeingResults, arrived: list[int], context: CallContext) -> Iterable[Choice]:
        items = self.items(arrived)
        asked = any(self.asks(item) for item in items)
        state.iteration = 1 if asked else state.iteration + 1
        state.newest.extend(items)
        while len(state.newest) > 2 * self.strategy.keep_turns:
            item = state.newest.popleft()
            if item.is_result:
                state.aged.extend(item.blocks)
        if state.iteration < self.strategy.from_iteration:
            return ()
        return self._prune(state, context)

    def _prune(self, state: _AgeingResults, context: CallContext) -> Iterable[Choice]:
        strategy = self.strategy
        in_tokens = strategy.unit == TOKENS
        measured = context.tokens if in_tokens else context.length
        lengths = {block: measured(block) for block in state.aged}
        total = state.characters + sum(lengths.values())
        aged, state.aged = state.aged, []
        state.count += len(aged)
        state.uncleared.extend(block for block in aged if block not in self._cleared)
        if total > strategy.clear_above:
            reason = f"old, with {total:,} {strategy.unit} of old results"
            decision = Decision(ReplaceText(PLACEHOLDER), reason, "clear")
            choices = [Choice(block, decision) for block in state.uncleared]
            self._cleared.update(state.uncleared)
            state.uncleared.clear()
            left = context.tokens_under(choices[0]) if in_tokens and choices else len(PLACEHOLDER)
            state.characters = total if strategy.variant == "projection" else left * state.count
            return choices
        cut = make_cut(strategy.unit, strategy.threshold, strategy.head, strategy.tail, PRUNED_MARKER, numbered=True)
        large = [block for block in aged if lengths[block] > strategy.threshold]
        decision = Decision(cut, "old and large", "trim")
        if strategy.variant == "in-place":
            for block in large:
                lengths[block] = self._left(context, Choice(block, decision), cut, lengths[block])
        state.characters += sum(lengths.values())
        return [Choice(block, decision) for block in large]

    def _left(self, context: CallContext, choice: Choice, cut: CutText | CutTokens, length: int) -> int:
        if not isinstance(cut, CutText):
            return context.tokens_under(choice)
        return min(cut.head, length) + min(cut.tail, length) + len(cut.marker_text(length, ""))


TAGS = ("[Live State", "[Briefing", "[Update")
"""Opening tags of snapshots; each has a matching end mark. From 12DDFF/Hynous `intelligence/agent.py`."""

END_MARKS = ("[End Live State]\n\n", "[End Briefing]\n\n", "[End Update]\n\n")


@dataclass(frozen=True, slots=True)
class StripSnapshots:
    """Drop a live state, a briefing and an update from the beginning of a text, in that order, if they are closed."""

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        """Return the text after the last snapshot; the same rendition if there is none."""
        text = rendition.text(source.text())
        start = 0
        for tag, end_mark in zip(TAGS, END_MARKS, strict=True):
            if text.startswith(tag, start):
                end = text.find(end_mark, start)
                start = start if end < 0 else end + len(end_mark)
        return rendition if start == 0 else Rendition(rendition.between(start, len(text)), Action.CUT)


def stale_snapshots(history: History) -> tuple[NDArray[np.int32], FreshnessChanges]:
    """Find user texts that begin with a snapshot, and when they stop being the newest question of the prompt."""
    session = history.session
    texts = np.flatnonzero((history.kind == BlockKind.USER_TEXT) & history.plain_text).astype(np.int32)
    owners = history.message[texts]
    by_user = np.fromiter((session.messages[owner].role is Role.USER for owner in owners), np.bool_, len(owners))
    asks = np.zeros(len(history.message_enters), dtype=np.bool_)
    asks[owners[by_user]] = True
    blocks = session.blocks
    begins = np.fromiter((blocks[block].preview.startswith(TAGS) for block in texts), np.bool_, len(texts))
    candidates = texts[by_user & begins]
    return candidates, freshness_changes(
        history, candidates, history.message[candidates], last_marked_messages(history, asks)
    )


STALE_MARKER = "\n...[truncated, already processed]"
TIERS = ("confirmation", "action", "data", "search", "default")


def _limit(tier: str, characters: int, what: str) -> Any:
    text = f"Characters kept of a stale result of {what}."
    return integer(characters, text, "characters", maximum=100_000, group=tier)


def _tools(tier: str) -> Any:
    return tools((), "Tools assigned to this tier, overriding the tool set.", group=tier)


@dataclass(frozen=True)
class TieredStale(Batching):
    """Cut stale tool results to a length that depends on their tool."""

    name = "tiered-stale"
    title = "Tiered truncation of stale results"
    summary = (
        "Once the model has answered a tool result, keep only its first characters: fewest for confirmations, most for "
        "search results."
    )
    source = "TO-3 tiered stale tool result truncation, 12DDFF/Hynous src/hynous/intelligence/agent.py"
    agent_settings = AgentSettings(
        {
            **dict.fromkeys((*TIERS, *(f"{tier}-tools" for tier in TIERS)), "_STALE_TRUNCATION"),
            "tool-set": "",
            "variant": "",
        },
        constants=("marker",),
    )

    confirmation: int = _limit("confirmation", 150, "a tool that only confirms")
    confirmation_tools: tuple[str, ...] = _tools("confirmation")
    action: int = _limit("action", 300, "an action that returns a summary")
    action_tools: tuple[str, ...] = _tools("action")
    data: int = _limit("data", 400, "a tool that returns data")
    data_tools: tuple[str, ...] = _tools("data")
    search: int = _limit("search", 600, "a tool that returns search results")
    search_tools: tuple[str, ...] = _tools("search")
    default: int = _limit("default", 800, "any other tool")
    default_tools: tuple[str, ...] = _tools("default")
    tool_set: str = choice(
        ("document", "coding"),
        "Tiers of unlisted tools: the document's, or those for coding agents.",
    )
    variant: str = choice(
        ("document", "shipped"),
        "Fresh results: the whole last batch (document) or the last one (shipped).",
    )
    snapshots: str = choice(
        ("by-variant", "keep", "strip"),
        "State, briefing, update in old questions; by-variant: strip if shipped.",
    )
    lists: bool = switch(False, "Also cut results that are lists of parts; the described system does not.")
    unit: str = limit_unit("the tier limits")
    never_longer: bool = switch(False, "Leave a result whole if the cut would not make it shorter.")
    marker: str = string(STALE_MARKER, "Marker after cut text; {recall} is the command that prints the full text.")

    tiers = TIERS

    @classmethod
    def for_session(cls, session: Session) -> TieredStale:
        """Build the strategy with tiers that fit a session's tools; for coding agents, results in parts are cut too."""
        if tool_set_for(tools_of_session(session)) == "document":
            return cls()
        return cls(tool_set="coding", lists=True)

    def limit(self, tier: str) -> int:
        return int(getattr(self, tier))

    def tier_of(self, tool: str) -> str:
        """Return a tool's tier; `default` for an unknown one."""
        for tier in TIERS:
            if tool in getattr(self, f"{tier}_tools"):
                return tier
        if self.tool_set == "coding":
            return TIER_OF_KIND[tool_kind(tool)]
        return document_tier(tool, shipped=self.variant == "shipped")

    def schedule(self, history: History) -> Schedule:
        """Cut every result at the first call that sends it and does not end with it."""
        ages = _ages(history, self.variant, lists=self.lists)
        tiers = np.array([TIERS.index(self.tier_of(name)) for name in (*history.tool_names, "")], dtype=np.int32)
        # Tool -1 (no known tool) selects the last entry, for the empty name.
        decisions = tiers[history.tool[ages.blocks]] + np.where(ages.stale, 0, len(TIERS)).astype(np.int32)
        blocks, calls = ages.blocks, ages.calls
        if self.snapshots == "strip" or (self.snapshots == "by-variant" and self.variant == "shipped"):
            texts, turns = stale_snapshots(history)
            blocks = np.concatenate((blocks, texts[turns.rows]))
            calls = np.concatenate((calls, turns.calls))
            snapshot = np.where(turns.stale, 2 * len(TIERS), 2 * len(TIERS) + 1).astype(np.int32)
            decisions = np.concatenate((decisions, snapshot))
        return Schedule(blocks, calls, decisions, self._table())

    def _table(self) -> tuple[Decision, ...]:
        cuts = []
        for tier in TIERS:
            limit = self.limit(tier)
            cut = make_cut(self.unit, limit, limit, 0, self.marker, never_longer=self.never_longer)
            cuts.append(Decision(cut, f"stale, tier {tier}", tier))
        back = [Decision(None, "fresh again", tier) for tier in TIERS]
        snapshots = [Decision(StripSnapshots(), "outdated snapshot"), Decision(None, "the newest question again")]
        return (*cuts, *back, *snapshots)


class _Ages(NamedTuple):
    """Changes of results between fresh and stale, by block, then call.

    Attributes:
        calls: First call with the new state, int32.
        stale: True if the result is stale from then on.
    """

    blocks: NDArray[np.int32]
    calls: NDArray[np.int32]
    stale: NDArray[np.bool_]


@cached_per_history
def _ages(history: History, variant: str, *, lists: bool) -> _Ages:
    results = history.results if lists else history.results[history.plain_text[history.results]]
    ages = freshness_changes(history, results, *_groups(history, results, variant))
    blocks = results[ages.rows]
    order = np.lexsort((ages.calls, blocks))
    return _Ages(blocks[order], ages.calls[order], ages.stale[order])


def _groups(history: History, results: NDArray[np.int32], variant: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the freshness group of each result, and per call the group its prompt ends with."""
    if variant == "document":
        runs = result_runs(history)
        last = history.call_last_message
        return runs[history.message[results]], np.where(last >= 0, np.append(runs, -1)[last], -1).astype(np.int32)
    last = last_marked_messages(history, history.message_has_results)
    final_result = np.full(len(history.message_enters) + 1, -1, dtype=np.int32)
    final_result[history.message[history.results]] = history.results
    return results, final_result[last]
