"""Compact conversations group by group, as Microsoft's agent framework does it.

Source: agent-framework-core 1.23 `_compaction.py`. Five strategies work on the same groups (`maf_groups`) before every
call, and what one has left out stays out. Old tool uses become one message each that lists their results, or go. The
oldest groups go beyond a number of groups, or once messages or tokens are too many. And the two are combined: results
first, groups only where that is not enough, at parts of what the window leaves for input. Nobody looks at what a
provider reports; tokens are a quarter of the characters of the messages' JSON.

Most of them have no numbers of their own in the framework; the defaults here are examples then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from inspector.session.model import BlockKind, TextUnavailableError
from inspector.strategies.base import Choice, Decision
from inspector.strategies.entries import Reader
from inspector.strategies.maf_groups import Groups
from inspector.strategies.operations import RemoveBlock
from inspector.strategies.settings import choice, number, switch, whole
from inspector.strategies.speeches import SayInstead
from inspector.strategies.tunable import Tunable
from inspector.strategies.windows import window_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.strategies.base import Moment
    from inspector.strategies.history import History
    from inspector.strategies.maf_groups import Group

SOURCE = "agent-framework-core 1.23 agent_framework/_compaction.py"
_PREFIX, _SUFFIX, _CUT = "[Tool results: ", "]", "... [truncated]"
_LONGEST = 4_096


def results_text(labels: Iterable[str]) -> str:
    """The message that lists the results of a tool use, cut where it would be too long."""
    label = "; ".join(labels) or "no results"
    if len(_PREFIX) + len(label) + len(_SUFFIX) > _LONGEST:
        label = label[: _LONGEST - len(_PREFIX) - len(_CUT) - len(_SUFFIX)].rstrip() + _CUT
    return f"{_PREFIX}{label}{_SUFFIX}"


class _Maf(Tunable):
    """Base of the strategies here: what each does to the groups before a call."""

    def start(self, history: History) -> MafRun:
        """A fresh run over one session."""
        return MafRun(self, history, Reader(history))

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:
        """What changes at a call."""
        raise NotImplementedError


def _keep(default: int) -> Any:
    return whole("keep", default, "How many of the newest tool uses stay as they are.", "tool uses", maximum=10_000)


def _first_user() -> Any:
    return switch("keep-first-user", False, "Never leave out the first message of the user.", group="groups")


@dataclass(frozen=True)
class MafToolResults(_Maf):
    """Replace old tool uses by messages that list their results."""

    name: ClassVar[str] = "maf-tool-results"
    title: ClassVar[str] = "List old results (agent framework)"
    summary: ClassVar[str] = "Replace all but the newest tool uses by one message each that lists their results."
    source: ClassVar[str] = f"ToolResultCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:
        """List the results of old tool uses."""
        while len(groups.calls) > self.keep:
            yield from _list_results(groups, groups.calls[0], moment)


@dataclass(frozen=True)
class MafToolCalls(_Maf):
    """Leave old tool uses out."""

    name: ClassVar[str] = "maf-tool-calls"
    title: ClassVar[str] = "Leave old tool uses out (agent framework)"
    summary: ClassVar[str] = "Remove all but the newest tool uses, calls and results."
    source: ClassVar[str] = f"SelectiveToolCallCompactionStrategy, {SOURCE}"

    keep: int = _keep(1)

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        """Leave old tool uses out."""
        while len(groups.calls) > self.keep:
            yield from _leave_out(groups, groups.calls[0], f"older than the newest {self.keep} tool uses")


@dataclass(frozen=True)
class MafWindow(_Maf):
    """Keep the newest groups."""

    name: ClassVar[str] = "maf-window"
    title: ClassVar[str] = "Sliding window (agent framework)"
    summary: ClassVar[str] = "Keep the newest groups of messages, a tool call and its results being one."
    source: ClassVar[str] = f"SlidingWindowStrategy, {SOURCE}"

    keep: int = whole("keep", 20, "How many of the newest groups stay.", "groups", minimum=1, maximum=10_000)

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:  # noqa: ARG002  nothing is measured
        """Leave the oldest groups out."""
        while len(groups.groups) > self.keep:
            yield from _leave_out(groups, groups.groups[0], f"older than the newest {self.keep} groups")


@dataclass(frozen=True)
class MafTruncation(_Maf):
    """Leave the oldest groups out once messages or tokens are too many."""

    name: ClassVar[str] = "maf-truncation"
    title: ClassVar[str] = "Truncation (agent framework)"
    summary: ClassVar[str] = "When messages or tokens are too many, remove the oldest groups until they are few enough."
    source: ClassVar[str] = f"TruncationStrategy, {SOURCE}"

    unit: str = choice("unit", ("messages", "tokens"), "What is counted.")
    limit: int = whole("limit", 80, "Most messages or tokens.", "", minimum=1, maximum=10_000_000)
    target: int = whole("target", 40, "How many are left when there were more.", "", minimum=1, maximum=10_000_000)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:  # noqa: ARG002  its own count decides
        """Leave the oldest groups out if there is too much."""
        yield from _truncate(groups, self.unit, self.limit, min(self.target, self.limit), self.keep_first_user)


@dataclass(frozen=True)
class MafContextWindow(_Maf):
    """List old results, and leave the oldest groups out, at parts of the window."""

    name: ClassVar[str] = "maf-context-window"
    title: ClassVar[str] = "Fit the window (agent framework)"
    summary: ClassVar[str] = (
        "List the results of old tool uses when the window is half full, and remove the oldest groups when that is not "
        "enough."
    )
    source: ClassVar[str] = f"ContextWindowCompactionStrategy, {SOURCE}"

    window: int = whole(
        "window",
        0,
        "Size of the model's window; 0 for the one the chart and the report name.",
        "tokens",
        maximum=10_000_000,
    )
    max_output: int = whole("max-output", 16_384, "What of it is for output.", "tokens", maximum=1_000_000)
    evict: float = number(
        "evict", 0.5, "Part of the rest from which on results are listed.", minimum=0.0, maximum=1.0, group="results"
    )
    truncate: float = number(
        "truncate", 0.8, "Part of the rest from which on groups go.", minimum=0.0, maximum=1.0, group="groups"
    )
    keep: int = _keep(4)
    keep_first_user: bool = _first_user()

    def compact(self, groups: Groups, moment: Moment) -> Iterator[Choice]:
        """List results, then leave groups out, each if there is too much."""
        budget = max(window_of(groups.history, self.window) - self.max_output, 1)
        evict, truncate = int(budget * self.evict), int(budget * max(self.truncate, self.evict))
        moment.note_estimate(groups.tokens)
        if groups.tokens > evict:
            yield from MafToolResults(self.keep).compact(groups, moment)
        yield from _truncate(groups, "tokens", truncate, evict, self.keep_first_user)


def _list_results(groups: Groups, group: Group, moment: Moment) -> Iterator[Choice]:
    text = results_text(_labels(group, moment))
    groups.replace(group, text)
    reason = "older than the newest tool uses"
    yield Choice(group.blocks[0], Decision(SayInstead(text, BlockKind.ASSISTANT_TEXT), reason, "results"))
    removed = Decision(RemoveBlock(), reason, "results")
    for block in group.blocks[1:]:
        yield Choice(block, removed)


def _labels(group: Group, moment: Moment) -> Iterator[str]:
    """What every result of a tool use is called and says."""
    history = moment.history
    blocks = [(index, history.session.blocks[index]) for index in group.blocks]
    names = {block.tool_call_id: block.tool_name for _, block in blocks if block.kind is BlockKind.TOOL_CALL}
    for index, block in blocks:
        if block.kind is BlockKind.TOOL_RESULT:
            try:
                text = moment.text(index)
            except TextUnavailableError:
                text = ""
            name = names.get(block.tool_call_id) if block.tool_call_id else None
            yield (f"{name}: {text}" if name else text).strip()


def _truncate(groups: Groups, unit: str, limit: int, target: int, keep_first_user: bool) -> Iterator[Choice]:
    def size() -> int:
        return groups.messages if unit == "messages" else groups.tokens

    if size() <= limit:
        return
    before = size()
    spared: list[Group] = []
    while size() > target and len(groups.groups) > 1:
        oldest = groups.groups[0]
        if keep_first_user and oldest is groups.first_user:
            spared.append(groups.groups.popleft())
            continue
        yield from _leave_out(groups, oldest, f"{before:,} {unit} were too many")
    groups.groups.extendleft(reversed(spared))


def _leave_out(groups: Groups, group: Group, reason: str) -> Iterator[Choice]:
    groups.leave_out(group)
    decision = Decision(RemoveBlock(), reason, "groups")
    for block in group.blocks:
        yield Choice(block, decision)


@dataclass
class MafRun:
    """One of the strategies at work on one session.

    Attributes:
        strategy: The values.
        history: What was recorded.
        reader: Reads what arrives.
    """

    measures_prompts: ClassVar[bool] = False
    strategy: _Maf
    history: History
    reader: Reader
    _groups: dict[int, Groups] = field(default_factory=dict)
    _changed: set[int] = field(default_factory=set)

    def step(self, moment: Moment) -> Iterable[Choice]:
        """Take in what arrived, then compact."""
        number, arrived = self.reader.thread(moment), self.reader.arrived(moment)
        choices: list[Choice] = []
        if moment.starts_context or number not in self._groups:
            self._groups[number] = Groups(self.history)
            back = Decision(None, "another conversation began")
            choices = [Choice(block, back) for block in arrived if block in self._changed]
            self._changed.difference_update(arrived)
        groups = self._groups[number]
        groups.add(moment, self.reader.entries(arrived), system=[block for block in arrived if self._is_system(block)])
        again = Decision(None, "one of its results came late")
        choices += [Choice(block, again) for group in groups.again for block in group.blocks]
        groups.again.clear()
        made = list(self.strategy.compact(groups, moment))
        self._changed.update(choice.block for choice in made)
        return [*choices, *made]

    def _is_system(self, block: int) -> bool:
        recorded = self.history.session.blocks[block]
        return recorded.kind is BlockKind.SYSTEM_TEXT and recorded.origin.locator != "tools"
