"""Compact conversations group by group, as Microsoft's agent framework does.

Source: agent-framework-core 1.23 `_compaction.py`. Five strategies work on the same groups (see `maf_messages`) before
every call, and excluded groups stay excluded. Two strategies handle old tool uses: they become one message each that
lists their results, or they are dropped. Two drop the oldest groups: beyond a number of groups, or once there are too
many messages or tokens. One combines both: results first, groups only if that is not enough, at fractions of the
window's input budget. The tokens a provider reports are ignored; a token counts as four characters of the messages'
JSON.

Most strategies have no default numbers in the framework; the defaults here are then taken from its examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.core.operations import RemoveBlock, ReplaceWithMessage
from inspector.strategies.core.parametrized import (
    Parametrized,
    choice,
    integer,
    model_window,
    number,
    switch,
    window_of,
)
from inspector.strategies.core.strategy import Choice, Decision
from inspector.strategies.core.thread_runs import ThreadRun
from inspector.strategies.history.history import SYSTEM_TEXT, TOOL_CALL, TOOL_RESULT
from inspector.strategies.history.memo import Memo
from inspector.strategies.library.maf_messages import JSON_CHARACTERS, Groups, Messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from inspector.strategies.core.strategy import CallContext
    from inspector.strategies.history.history import History
from inspector.strategies.library.maf_messages import Group

_PREFIX, _SUFFIX, _CUT = "[Tool results: ", "]", "... [truncated]"
_LONGEST = 4_096
_KEPT_CHARACTERS = 32_000_000
"""Maximum characters of cached listings: somewhat more than a session of 100 MB needs."""

REASON = "older than the newest tool uses"


class Listing(NamedTuple):
    """The replacement of a tool use.

    Attributes:
        decision: Decision with the replacement text.
        characters: Length of its text as a JSON string.
    """

    decision: Decision
    characters: int


def results_text(labels: Iterable[str]) -> str:
    """Return the message that lists the results of a tool use, truncated if it would be too long.

    It includes the beginning of the results, so their texts must be read.
    """
    label = "; ".join(labels) or "no results"
    if len(_PREFIX) + len(label) + len(_SUFFIX) > _LONGEST:
        label = label[: _LONGEST - len(_PREFIX) - len(_CUT) - len(_SUFFIX)].rstrip() + _CUT
    return f"{_PREFIX}{label}{_SUFFIX}"


class _Listings:
    """Cache of listings by tool names and digests of the results."""

    def __init__(self) -> None:
        self._known: Memo[tuple[tuple[str, bytes], ...], Listing] = Memo(_KEPT_CHARACTERS)

    def of(self, context: CallContext, blocks: Sequence[int]) -> Listing:
        history = context.history
        recorded, kinds = history.session.blocks, history.kind_bytes
        names = {recorded[at].tool_call_id: recorded[at].tool_name for at in blocks if kinds[at] == TOOL_CALL}
        names.pop("", None)
        results = [(at, names.get(recorded[at].tool_call_id, "")) for at in blocks if kinds[at] == TOOL_RESULT]
        if not all(context.is_whole(at) for at, _ in results):
            return _listing([_label(name, _text(context, at) or "") for at, name in results])
        key = tuple([(name, recorded[at].digest) for at, name in results])
        known = self._known.get(key)
        if known is None:
            texts = [_text(context, at) for at, _ in results]
            known = _listing([_label(name, text or "") for (_, name), text in zip(results, texts, strict=True)])
            if None not in texts:
                self._known.keep(key, known, known.characters)
        return known


LISTINGS = _Listings()


def _text(context: CallContext, block: int) -> str | None:
    try:
        return context.text(block)
    except TextUnavailableError:
        return None


def _label(name: str, text: str) -> str:
    return (f"{name}: {text}" if name else text).strip()


def _listing(labels: Iterable[str]) -> Listing:
    text = results_text(labels)
    return Listing(
        Decision(ReplaceWithMessage(text, BlockKind.ASSISTANT_TEXT), REASON, "results"), JSON_CHARACTERS.of_text(text)
    )


SOURCE = "agent-framework-core 1.23 agent_framework/_compaction.py"


class _Maf(Parametrized):
    """Base of the strategies here; each changes the groups before a call."""

    def start(self, history: History) -> MafRun:
        return MafRun(self, history)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        raise NotImplementedError


ASSISTANT_FIRST = (
    "The oldest groups go regardless of the speaker: the list may begin with the assistant, which Anthropic's API "
    "refuses"
)
UNLESS_KEPT = f"{ASSISTANT_FIRST}; with `keep-first-user` it does not."


def _keep(default: int) -> Any:
    return integer(default, "Number of newest tool uses left as they are.", "tool uses", maximum=10_000)


def _first_user() -> Any:
    return switch(False, "Never remove the first user message.", group="groups")


@dataclass(frozen=True)
class MafToolResults(_Maf):
    """Replace old tool uses with messages that list their results."""

    name = "maf-tool-results"
    title = "List old results (agent framework)"
    summary = "Replace all but the newest tool uses with one message each that lists their results."
    source = f"ToolResultCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        while len(groups.calls) > self.keep:
            yield from _list_results(groups, next(iter(groups.calls)), context)


@dataclass(frozen=True)
class MafToolCalls(_Maf):
    """Leave out old tool uses."""

    name = "maf-tool-calls"
    title = "Drop old tool uses (agent framework)"
    summary = "Remove all but the newest tool uses, calls and results."
    source = f"SelectiveToolCallCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        while len(groups.calls) > self.keep:
            yield from _leave_out(groups, next(iter(groups.calls)), f"older than the newest {self.keep} tool uses")


@dataclass(frozen=True)
class MafWindow(_Maf):
    """Keep the newest groups."""

    name = "maf-window"
    title = "Sliding window (agent framework)"
    summary = "Keep the newest groups of messages; a tool call and its results are one group."
    source = f"SlidingWindowStrategy, {SOURCE}"
    note = f"{ASSISTANT_FIRST}."

    keep: int = integer(20, "Number of newest groups kept.", "groups", minimum=1, maximum=10_000)

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        while len(groups.groups) > self.keep:
            yield from _leave_out(groups, next(iter(groups.groups)), f"older than the newest {self.keep} groups")


@dataclass(frozen=True)
class MafTruncation(_Maf):
    """Leave out the oldest groups once there are too many messages or tokens."""

    name = "maf-truncation"
    title = "Truncation (agent framework)"
    summary = "When there are too many messages or tokens, remove the oldest groups until few enough are left."
    source = f"TruncationStrategy, {SOURCE}"
    note = UNLESS_KEPT

    unit: str = choice(("messages", "tokens"), "Unit of the limit and of the target.")
    limit: int = integer(80, "Maximum messages or tokens.", "", minimum=1, maximum=10_000_000)
    target: int = integer(40, "Messages or tokens left after a removal.", "", minimum=1, maximum=10_000_000)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:  # noqa: ARG002  its own count decides
        yield from _truncate(groups, self.unit, self.limit, min(self.target, self.limit), self.keep_first_user)


@dataclass(frozen=True)
class MafContextWindow(_Maf):
    """List old results, and leave out the oldest groups, at fractions of the window."""

    name = "maf-context-window"
    title = "Fit the window (agent framework)"
    summary = (
        "List the results of old tool uses when the window is half full, and remove the oldest groups if that is not "
        "enough."
    )
    source = f"ContextWindowCompactionStrategy, {SOURCE}"
    note = UNLESS_KEPT

    window: int = model_window()
    max_output: int = integer(16_384, "Part of the window reserved for output.", "tokens", maximum=1_000_000)
    evict: float = number(
        0.5, "Fraction of the rest at which results are listed.", minimum=0.0, maximum=1.0, group="results"
    )
    truncate: float = number(
        0.8, "Fraction of the rest at which groups are removed.", minimum=0.0, maximum=1.0, group="groups"
    )
    keep: int = _keep(4)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, context: CallContext) -> Iterator[Choice]:
        budget = max(window_of(context.history, self.window) - self.max_output, 1)
        evict, truncate = int(budget * self.evict), int(budget * max(self.truncate, self.evict))
        context.note_estimate(groups.tokens)
        if groups.tokens > evict:
            yield from MafToolResults(self.keep).compact(groups, context)
        yield from _truncate(groups, "tokens", truncate, evict, self.keep_first_user)


_LISTED = Decision(RemoveBlock(), REASON, "results")


def _list_results(groups: Groups, group: Group, context: CallContext) -> Iterator[Choice]:
    decision, characters = LISTINGS.of(context, group.blocks)
    groups.replace(group, characters)
    yield Choice(group.blocks[0], decision)
    for block in group.blocks[1:]:
        yield Choice(block, _LISTED)


def _truncate(groups: Groups, unit: str, limit: int, target: int, keep_first_user: bool) -> Iterator[Choice]:
    def size() -> int:
        return groups.messages if unit == "messages" else groups.tokens

    if size() <= limit:
        return
    before = size()
    spared: list[Group] = []
    while size() > target and len(groups.groups) > 1:
        oldest = next(iter(groups.groups))
        if keep_first_user and oldest is groups.first_user:
            spared.append(oldest)
            del groups.groups[oldest]
            continue
        yield from _leave_out(groups, oldest, f"over the limit with {before:,} {unit}")
    for group in reversed(spared):
        groups.groups[group] = None
        groups.groups.move_to_end(group, last=False)


@lru_cache(64)
def _left_out(reason: str) -> Decision:
    return Decision(RemoveBlock(), reason, "groups")


def _leave_out(groups: Groups, group: Group, reason: str) -> Iterator[Choice]:
    groups.discard_step(group)
    decision = _left_out(reason)
    for block in group.blocks:
        yield Choice(block, decision)


class MafRun(ThreadRun[_Maf, Groups]):
    """A run of one of the strategies on one session.

    Attributes:
        messages: The session's messages.
    """

    measures_prompts = False

    def __init__(self, strategy: _Maf, history: History) -> None:
        super().__init__(strategy, history)
        self.messages = Messages(history)

    def begin(self) -> Groups:
        return Groups(self.messages)

    def step(self, context: CallContext) -> Iterator[Choice]:
        """Yield the changes at this call; resets take effect before anything is measured."""
        groups, arrived = self.advance(context)
        yield from self.again
        yield from self.record_changes(self.decide(groups, arrived, context))

    def decide(self, state: Groups, arrived: list[int], context: CallContext) -> Iterator[Choice]:
        kinds, blocks = self.history.kind_bytes, self.history.session.blocks
        systems = [at for at in arrived if kinds[at] == SYSTEM_TEXT and blocks[at].origin.locator != "tools"]
        state.add(context, self.items(arrived), system=systems)
        if state.again:
            again = Decision(None, "one of its results came late")
            yield from [Choice(block, again) for group in state.again for block in group.blocks]
            state.again.clear()
        yield from self.strategy.compact(state, context)
