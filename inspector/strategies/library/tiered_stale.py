"""Tiered truncation of stale tool results: the length kept depends on the tool that produced it.

A stale result is one the model has seen and answered. It is cut to its first characters, fewer for a confirmation than
for search results. Results are fresh, and whole, while the prompt ends with them.

Source: the design "TO-3: Tiered Stale Tool Result Truncation" (12DDFF/Hynous). Its limits, tools, marker and definition
of fresh are the defaults. The variant `shipped` follows the same agent's released code
(12DDFF/Hynous@e183781 `intelligence/agent.py`): only the very last result of the prompt is fresh, in any position, five
more tools are classified, and outdated state is dropped from the front of older questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from inspector.session.model import BlockKind, Role
from inspector.strategies.core.batching import Batching
from inspector.strategies.core.operations import make_cut
from inspector.strategies.core.parametrized import choice, integer, limit_unit, string, switch, tools
from inspector.strategies.core.rendition import Action, Rendition
from inspector.strategies.core.strategy import AgentSettings, Decision, Schedule
from inspector.strategies.history.freshness import (
    FreshnessChanges,
    freshness_changes,
    last_marked_messages,
    result_runs,
)
from inspector.strategies.history.memo import cached_per_history
from inspector.strategies.history.tools import (
    TIER_OF_KIND,
    document_tier,
    tool_kind,
    tool_set_for,
    tools_of_session,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.session.model import Session
    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.history.history import History


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


MARKER = "\n...[truncated, already processed]"
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
    marker: str = string(MARKER, "Marker after cut text; {recall} is the command that prints the full text.")

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
        blocks: The results, int32.
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
