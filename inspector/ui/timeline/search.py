"""Search of rows by text, role, tool, and effect of the plan.

A query consists of words, all of which must match:

    router            the block's text contains it, ignoring case
    "two words"       the block's text contains the phrase
    tool:bash         the tool's name contains it
    who:user          kind of block: system, user, assistant, thinking, call, result
    tier:data         results in this tier of the plan, or cut by this part of a strategy
    by:tiered         blocks cut by this strategy
    is:changed        not sent whole by the plan; is:cut, is:replaced, is:removed, is:whole for one action
    is:error          failed results; is:out: not in the selected call's prompt; is:pinned
    tokens>1000       more tokens than that, as recorded
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from inspector.errors import InspectorError
from inspector.session.model import Block, BlockKind, Session, TextUnavailableError
from inspector.strategies.core.operations import Action
from inspector.ui.timeline.rows import opened_within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from inspector.strategies.history.history import History
    from inspector.ui.timeline.rows import Key, Rows
    from inspector.ui.timeline.view import TimelineView

SESSION_KEY: Key = ()
"""Key of the session itself, as opposed to its subagents."""
SECONDS_BETWEEN_PARTS = 0.15

WHO = {
    "system": (BlockKind.SYSTEM_TEXT,),
    "user": (BlockKind.USER_TEXT,),
    "assistant": (BlockKind.ASSISTANT_TEXT,),
    "thinking": (BlockKind.THINKING,),
    "call": (BlockKind.TOOL_CALL,),
    "result": (BlockKind.TOOL_RESULT,),
    "image": (BlockKind.IMAGE, BlockKind.DOCUMENT),
}
ACTIONS = {action.label: action for action in Action}
STATES = ("changed", *ACTIONS, "error", "out", "pinned")
_WORD = re.compile(r'"([^"]*)"?|(\S+)')


class QueryError(InspectorError, ValueError):
    """An invalid query; the message lists the allowed values."""

    advice = "the help of the search line lists all filters"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. All texts are in lower case and match as substrings.

    Attributes:
        words: Texts the block must contain.
        tools: Texts the tool's name must contain.
        kinds: Allowed kinds of block; empty for any.
        states: Required values of `STATES`.
        tiers: Texts that the name of its tier, or of the part of a strategy that changed it, must contain.
        strategies: Texts that the name of the strategy that changed it must contain.
        above: Exclusive lower limit of its tokens; -1 for none.
    """

    words: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    kinds: tuple[BlockKind, ...] = ()
    states: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    above: int = -1

    @classmethod
    def parse(cls, text: str) -> Query:
        """Parse a query.

        Raises:
            QueryError: A word is invalid.
        """
        words: list[str] = []
        named: dict[str, list[str]] = {"tool": [], "tier": [], "by": []}
        kinds: list[BlockKind] = []
        states: list[str] = []
        above = -1
        for phrase, word in _WORD.findall(text):
            name, colon, value = word.partition(":")
            if phrase:
                words.append(phrase.lower())
            elif name in named and colon:
                named[name].append(value.lower())
            elif name == "who" and colon:
                kinds.extend(_kinds(value))
            elif name == "is" and colon:
                if value not in STATES:
                    raise QueryError(f"is: accepts {', '.join(STATES)}")
                states.append(value)
            elif match := re.fullmatch(r"tokens>(\d[\d,]*)", word):
                above = int(match[1].replace(",", ""))
            elif word:
                words.append(word.lower())
        tools, tiers, strategies = (tuple(values) for values in named.values())
        return cls(tuple(words), tools, tuple(kinds), tuple(states), tiers, strategies, above)

    @property
    def follows_plan(self) -> bool:
        """True if matches depend on the plan or the selected call."""
        return bool(self.tiers or self.strategies or set(self.states) - {"error", "pinned"})

    @property
    def is_empty(self) -> bool:
        return self == Query()


def _kinds(value: str) -> tuple[BlockKind, ...]:
    named = [name for name in WHO if value and name.startswith(value.lower())]
    if not named:
        raise QueryError(f"who: accepts {', '.join(WHO)}")
    return tuple(kind for name in named for kind in WHO[name])


@dataclass
class Search:
    """A running query on a session that may grow: no text is read twice.

    Attributes:
        query: The query.
        known: True for texts that contain all words, by digest.
    """

    query: Query
    known: dict[bytes, bool] = field(default_factory=dict)

    def rows(
        self, view: TimelineView, is_cancelled: Callable[[], bool], progress: Callable[[float], None]
    ) -> Iterator[NDArray[np.int32]]:
        """Yield the matching rows, ascending: partial results at intervals, then the complete result.

        `progress` is called with the searched fraction, 0 to 1.
        """
        candidates: dict[Key, tuple[History, NDArray[np.bool_]]] = {
            SESSION_KEY: (view.rows.history, self._candidates(view))
        }
        if not self.query.follows_plan and "pinned" not in self.query.states:
            for key, subagent in opened_within(view.rows):
                history = subagent.rows.history
                candidates[key] = (history, self._fitting(history, subagent.shown))
        found = {place: matching for place, (_, matching) in candidates.items()}
        if not self.query.words:
            yield _rows_of(view, found)
            return
        total = max(sum(int(history.characters[fits].sum()) for history, fits in candidates.values()), 1)
        found = {place: np.zeros(len(fits), dtype=np.bool_) for place, (_, fits) in candidates.items()}
        done, shown = 0, monotonic()
        for place, (history, fits) in candidates.items():
            session, blocks = history.session, history.session.blocks
            for index in np.flatnonzero(fits).tolist():
                if is_cancelled():
                    return
                block = blocks[index]
                found[place][index] = self._holds(session, block)
                done += block.characters
                if monotonic() - shown > SECONDS_BETWEEN_PARTS:
                    progress(done / total)
                    yield _rows_of(view, found)
                    shown = monotonic()
        yield _rows_of(view, found)

    def _holds(self, session: Session, block: Block) -> bool:
        held = self.known.get(block.digest)
        if held is None:
            try:
                lowered = session.text(block).lower()
            except (TextUnavailableError, OSError):
                return False
            held = self.known[block.digest] = all(word in lowered for word in self.query.words)
        return held

    def _candidates(self, view: TimelineView) -> NDArray[np.bool_]:
        """Return a mask of the session's blocks that match everything except the words."""
        matching = self._fitting(view.rows.history, view.tokens)
        if "pinned" in self.query.states:
            matching &= np.isin(np.arange(len(matching)), list(view.pins))
        return matching & _decided(self.query, view, len(matching))

    def _fitting(self, history: History, tokens: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask of blocks that match the recorded properties, except the words."""
        query = self.query
        count = len(history.kind)
        matching = np.ones(count, dtype=np.bool_)
        if query.kinds:
            matching &= np.isin(history.kind, np.array(query.kinds, dtype=np.uint8))
        if query.tools:
            named = [all(part in name.lower() for part in query.tools) for name in history.tool_names]
            matching &= np.array([*named, False], dtype=np.bool_)[history.tool]
        if query.above >= 0:
            known = min(count, len(tokens))
            matching[:known] &= tokens[:known] > query.above
        if "error" in query.states:
            matching &= history.is_error
        return matching


def _decided(query: Query, view: TimelineView, count: int) -> NDArray[np.bool_]:
    """Return a mask of blocks where the plan's action, tier and strategy match."""
    matching = np.ones(count, dtype=np.bool_)
    in_prompt, action = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.uint8)
    state = view.state
    if state is not None:
        known = min(count, len(state.action))
        in_prompt[:known], action[:known] = state.in_prompt[:known], state.action[:known]
    if "changed" in query.states:
        matching &= in_prompt & (action != Action.WHOLE)
    for label, wanted in ACTIONS.items():
        if label in query.states:
            matching &= in_prompt & (action == wanted)
    if "out" in query.states:
        matching &= ~in_prompt
    if query.tiers or query.strategies:
        reason, names = view.decisions()
        held = [
            all(part in group.lower() for part in query.tiers)
            and all(part in strategy.lower() for part in query.strategies)
            for strategy, group in names
        ]
        padded = np.full(count, -1, dtype=np.int64)
        padded[: len(reason)] = reason[:count]
        found = in_prompt & np.array([*held, False], dtype=np.bool_)[padded]
        if not query.strategies:
            found |= _in_tier(query, view)
        matching &= found
    return matching


def _in_tier(query: Query, view: TimelineView) -> NDArray[np.bool_]:
    """Return a mask of tool results in a matching tier, cut or not."""
    history = view.rows.history
    found = np.zeros(len(history.kind), dtype=np.bool_)
    for tiers in view.tiers():
        held = [all(part in tier.lower() for part in query.tiers) for tier in tiers]
        found |= np.array([*held, False], dtype=np.bool_)[history.tool]
    found &= history.kind == BlockKind.TOOL_RESULT
    return found


def _rows_of(view: TimelineView, found: Mapping[Key, NDArray[np.bool_]]) -> NDArray[np.int32]:
    """Return the rows of matching blocks, given masks for the session (`SESSION_KEY`) and for subagents by key."""
    return np.flatnonzero(_matching(view.rows, found, SESSION_KEY)).astype(np.int32)


def _matching(rows: Rows, found: Mapping[Key, NDArray[np.bool_]], within: Key) -> NDArray[np.bool_]:
    """Return a mask of matching rows of a session, including its subagents' rows."""
    matching: NDArray[np.bool_] = found[within][rows.block] & rows.is_block
    for place, subagent in rows.opened.items():
        key = within + rows.subagent_rows[place].key
        if key in found:
            of_it = (rows.subagent == place) & (rows.inner >= 0)
            matching[of_it] = _matching(subagent.rows, found, key)[rows.inner[of_it]]
    return matching
