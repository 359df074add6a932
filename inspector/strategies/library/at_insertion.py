"""Trim or store large tool results when they enter the conversation.

`trim-at-insertion` trims them to their head and tail and never touches them again. Source: "Insertion-Time Tool Result
Trimming", NousResearch hermes-agent issue 415. Its first phase, one threshold for all tools, is the default; `per-tool`
enables its second phase, a profile for each kind of tool. The existing hard cap stays after it as an emergency brake,
also for tools that are exempt from trimming. The same agent's current rule is `store-large`.

In its third phase the threshold adapts. The proposal lists two ways, and `adaptive` offers both: the window's share
`min(12_000, context_length * 0.02)`, and the same share of the window that a prompt leaves free. Head and tail shrink
with the threshold. A result is trimmed by the threshold of the call it enters at, and never again.

`store-large` stores them outside the conversation, leaving a preview and the file's name. Source: hermes-agent 0.19.0
`tools/tool_result_storage.py` and `tools/budget_config.py`, which replaced the proposal behind `trim-at-insertion`. Two
rules act when a batch of results is inserted. A result over its own limit is stored. Then, while the batch as a whole
is over its budget, its largest result is stored. Since 0.21 results of MCP servers' tools have a limit of 50,000
characters (`mcp-limit`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.batching import ScheduleBuilder
from inspector.strategies.core.operations import CutText, CutTokens, RecordedBlock, Rendition, check_template, make_cut
from inspector.strategies.core.parameters import CHARACTERS, Parameter, ToolList
from inspector.strategies.core.stored_previews import OPENING_TAG, persisted_output
from inspector.strategies.core.strategy import (
    AgentSettings,
    Choice,
    Decision,
    Parametrized,
    choice,
    integer,
    limit_unit,
    number,
    string,
    switch,
    tools,
    window_of,
)
from inspector.strategies.history.arrival_order import result_runs
from inspector.strategies.history.history import NEVER, History
from inspector.strategies.history.tools import tool_kind, tool_kind_mask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import CallContext, Schedule


MARKER = "\n\n[... {removed:,} chars trimmed from {tool} output ...]\n\n"
PROFILES = ("shell", "read", "search", "web")
_EXEMPT = "exempt"
_NAMES = (*PROFILES, "default", _EXEMPT)


class _Profile(NamedTuple):
    threshold: int
    head: int
    tail: int


@dataclass(frozen=True, slots=True)
class TrimText:
    """Keep head and tail of a text over a threshold, then cut the result to the hard cap.

    Attributes:
        threshold: Longest text that is left whole, in characters.
        cap: Maximum length after trimming; 0 for no cap.
        unit: Unit of all of these, characters or tokens.
        marker: Text in place of the part left out, a template as in `CutText`.
    """

    threshold: int
    head: int
    tail: int
    cap: int
    unit: str = CHARACTERS
    marker: str = MARKER

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        trim = make_cut(self.unit, self.threshold, self.head, self.tail, self.marker, numbered=True)
        trimmed = trim.apply(rendition, source)
        return hard_cap(self.cap, self.unit).apply(trimmed, source) if self.cap else trimmed


def hard_cap(limit: int, unit: str = CHARACTERS) -> CutText | CutTokens:
    """Build the cap that existed before the proposal: the head, and a note with the text's length."""
    size, counted = ("{length:,} chars", "char") if unit == CHARACTERS else ("{tokens:,} tokens", "token")
    note = f"\n\n[Cut: tool response was {size}, exceeding the {limit:,} {counted} limit]"
    return make_cut(unit, limit, limit, 0, note, numbered=True)


def _threshold(characters: int, what: str, profile: str = "default") -> Any:
    return _part(characters, f"Longest {what} inserted whole{_condition(profile)}.", profile)


def _head(characters: int, what: str, profile: str = "default") -> Any:
    return _part(characters, f"Characters kept from the start of a longer {what}{_condition(profile)}.", profile)


def _tail(characters: int, what: str, profile: str = "default") -> Any:
    return _part(characters, f"Characters kept from the end of a longer {what}{_condition(profile)}.", profile)


def _condition(profile: str) -> str:
    return "" if profile == "default" else ", with per-tool"


def _part(characters: int, text: str, profile: str) -> Any:
    return integer(characters, text, "characters", maximum=1_000_000, group=profile)


_SHELL, _READ, _SEARCH, _WEB = "command result", "file read", "search result", "web page"

ADAPTIVE = ("off", "window", "remaining")


@dataclass(frozen=True)
class TrimAtInsertion(Parametrized):
    """Keep head and tail of large results, once, when they are inserted."""

    name = "trim-at-insertion"
    title = "Trim at insertion"
    summary = "Keep head and tail of large results from insertion on; nothing changes later."
    source = "Insertion-Time Tool Result Trimming, hermes-agent issue 415"
    agent_settings = AgentSettings(
        {
            "threshold": "TOOL_RESULT_SOFT_TRIM_CHARS",
            "head": "TOOL_RESULT_HEAD_CHARS",
            "tail": "TOOL_RESULT_TAIL_CHARS",
            "per-tool": "",
            **{f"{profile}-{part}": "TOOL_TRIM_PROFILES" for profile in PROFILES for part in _Profile._fields},
            "cap": "MAX_TOOL_RESULT_CHARS",
        },
        constants=("marker",),
    )

    threshold: int = _threshold(12_000, "result")
    head: int = _head(4_000, "result")
    tail: int = _tail(4_000, "result")
    per_tool: bool = switch(False, "Use a separate profile for each kind of tool that has one.")
    shell_threshold: int = _threshold(15_000, _SHELL, "shell")
    shell_head: int = _head(2_000, _SHELL, "shell")
    shell_tail: int = _tail(8_000, _SHELL, "shell")
    read_threshold: int = _threshold(10_000, _READ, "read")
    read_head: int = _head(5_000, _READ, "read")
    read_tail: int = _tail(3_000, _READ, "read")
    search_threshold: int = _threshold(8_000, _SEARCH, "search")
    search_head: int = _head(4_000, _SEARCH, "search")
    search_tail: int = _tail(4_000, _SEARCH, "search")
    web_threshold: int = _threshold(8_000, _WEB, "web")
    web_head: int = _head(4_000, _WEB, "web")
    web_tail: int = _tail(2_000, _WEB, "web")
    cap: int = integer(
        100_000,
        "Hard cap on a result after trimming, keeping its beginning; 0 for none.",
        "characters",
        maximum=1_000_000,
    )
    unit: str = limit_unit("thresholds, heads, tails and the cap")
    exempt_tools: tuple[str, ...] = tools(
        (), "Tools with results that are not trimmed; the hard cap still applies.", about=ToolList.LEFT_ALONE
    )

    adaptive: str = choice(
        ADAPTIVE,
        "Lower thresholds, heads, tails to a share of the window or its free part.",
        group="adaptive",
    )
    adaptive_share: float = number(
        0.02,
        "That share, in characters per token.",
        minimum=0.0,
        maximum=10.0,
        group="adaptive",
    )
    adaptive_least: int = integer(
        1_000,
        "Minimum of a lowered threshold.",
        "characters",
        maximum=1_000_000,
        group="adaptive",
    )
    window: int = integer(
        0,
        "The model's context window; 0 for the size shown in chart and report.",
        "tokens",
        maximum=10_000_000,
        group="adaptive",
        is_assumed=True,
    )

    marker: str = string(MARKER, "Marker for the gap, with {removed}, {length}, {tool}, {recall}; {{ for {.")

    def __post_init__(self) -> None:
        """Check every value, and that the marker is a template."""
        super().__post_init__()
        check_template("marker", self.marker)

    def profile_of(self, tool: str) -> str:
        """Return the profile for a tool's results: its kind's with `per-tool`, otherwise `default`."""
        kind = str(tool_kind(tool))
        return kind if self.per_tool and kind in PROFILES else "default"

    def profile_or_exempt(self, tool: str) -> str:
        exempt = tool_kind_mask((tool,), (), self.exempt_tools)
        return _EXEMPT if exempt[0] else self.profile_of(tool)

    def in_use(self) -> TrimAtInsertion | _AdaptiveTrim:
        """Return a call-by-call strategy if the threshold depends on the prompts the plan has sent."""
        return _AdaptiveTrim(self) if self.adaptive == "remaining" else self

    def schedule(self, history: History) -> Schedule:
        """Decide every result when it enters; an adaptive threshold depends on the window."""
        builder = ScheduleBuilder(history)
        most = None if self.adaptive == "off" else self.share_of(window_of(history, self.window))
        results, profile = self.profiles_of_results(history)
        for index, name in enumerate(_NAMES):
            chosen = results[profile == index]
            builder.add_at_insertion(chosen, self.decision(name, most))
        return builder.schedule()

    def share_of(self, tokens: int) -> int:
        """Return the maximum threshold in characters for a number of tokens of the window."""
        return max(int(tokens * self.adaptive_share), self.adaptive_least)

    def profiles_of_results(self, history: History) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return every result, and its profile's index in `_NAMES`."""
        results = history.results
        of_tool = np.array([_NAMES.index(self.profile_of(name)) for name in (*history.tool_names, "")], dtype=np.int32)
        of_tool[tool_kind_mask(history.tool_names, (), self.exempt_tools)] = _NAMES.index(_EXEMPT)
        return results, of_tool[history.tool[results]]

    def decision(self, name: str, most: int | None = None) -> Decision:
        """Return the decision about a profile's results, with its threshold limited to `most`."""
        if name == _EXEMPT:
            return Decision(hard_cap(self.cap, self.unit) if self.cap else None, "over the hard cap", "default")
        return Decision(self._operation(name, most), "large at insertion", name)

    def _operation(self, name: str, most: int | None) -> CutText | CutTokens | TrimText:
        prefix = "" if name == "default" else f"{name}_"
        profile = _Profile(*(int(getattr(self, f"{prefix}{part}")) for part in _Profile._fields))
        if most is not None and most < profile.threshold:
            shrink = most / profile.threshold
            profile = _Profile(most, int(profile.head * shrink), int(profile.tail * shrink))
        longest = profile.head + profile.tail + len(self.marker) + 1_000
        if self.cap == 0 or (longest <= self.cap and profile.threshold <= self.cap):
            # The cap cannot be reached, and a plain cut is computed for all results at once.
            return make_cut(self.unit, *profile, self.marker, numbered=True)
        return TrimText(*profile, self.cap, self.unit, self.marker)


@dataclass(frozen=True)
class _AdaptiveTrim:
    """Trimming at insertion with a threshold that depends on the window left free by the last prompt."""

    name = TrimAtInsertion.name
    title = TrimAtInsertion.title
    summary = TrimAtInsertion.summary
    source = TrimAtInsertion.source
    parameters: ClassVar[tuple[Parameter, ...]] = TrimAtInsertion.parameters
    strategy: TrimAtInsertion

    def start(self, history: History) -> _AdaptiveTrimRun:
        results, profiles = self.strategy.profiles_of_results(history)
        profile_of = dict(zip(results.tolist(), profiles.tolist(), strict=True))
        return _AdaptiveTrimRun(self.strategy, window_of(history, self.strategy.window), profile_of)


@dataclass
class _AdaptiveTrimRun:
    """A run of the trimming on one session: results still to arrive, with their profiles."""

    strategy: TrimAtInsertion
    window: int
    profile_of: dict[int, int]
    _has_begun: bool = False

    def step(self, context: CallContext) -> Iterator[Choice]:
        arrived = [block for block in context.arrived.tolist() if block in self.profile_of]
        has_begun, self._has_begun = self._has_begun, True
        if not arrived:
            return
        # An agent only knows the usage of its last call, which after a compaction does not apply to the next prompt.
        taken = 0 if context.starts_context and has_begun else context.previous_prompt_tokens
        most = self.strategy.share_of(max(self.window - taken, 0))
        for block in arrived:
            yield Choice(block, self.strategy.decision(_NAMES[self.profile_of[block]], most))


_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME = 120
_CHARACTERS_PER_TOKEN = 4


class Budgets(NamedTuple):
    """Maximum characters inserted whole: per result, and per batch of results."""

    result: int
    batch: int


def budgets_for_window(window: int, result: int, batch: int) -> Budgets:
    """Return the budgets for a model's context window in tokens; 0 leaves `result` and `batch` unchanged.

    A result may take 15 % of the window and a batch 30 %, at four characters per token, at most the given budgets and
    at least 8,000 and 16,000 characters.
    """
    if not window:
        return Budgets(result, batch)
    characters = window * _CHARACTERS_PER_TOKEN
    return Budgets(max(8_000, min(int(characters * 0.15), result)), max(16_000, min(int(characters * 0.30), batch)))


@dataclass(frozen=True, slots=True)
class StoreText:
    """Leave a preview of a text over a limit, with the path of the full text.

    Attributes:
        limit: Longest text that is left whole, in characters.
        preview: Characters shown of a longer text, cut back to the last line end if that is past the half.
        folder: Folder in which the agent saves texts; empty if it cannot save any.
    """

    limit: int
    preview: int
    folder: str

    def apply(self, rendition: Rendition, source: BlockSource) -> Rendition:
        length = rendition.length
        if length <= self.limit:
            return rendition
        path = f"{self.folder}/{file_name(source.block.tool_call_id)}" if self.folder else ""
        return rendition.cut_to(persisted_output(rendition.text(source.text()), self.preview, path))


def file_name(identifier: str) -> str:
    """Return the file name for a result: its tool call's id, sanitized for file systems."""
    raw = identifier or "tool_result"
    stem = _UNSAFE.sub("_", raw).strip("._-")
    changed = stem != raw
    if not stem:
        stem, changed = "tool_result", True
    if changed or len(stem) > _LONGEST_NAME:
        digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        stem = f"{stem[:_LONGEST_NAME].rstrip('._-') or 'tool_result'}_{digest}"
    return f"{stem}.txt"


@dataclass(frozen=True)
class StoreLarge(Parametrized):
    """Replace large results with a preview and the name of the file that holds them, when they are inserted."""

    name = "store-large"
    title = "Store large results in files"
    summary = "Save results over a limit, and the largest of a batch over its budget, to files, and insert previews."
    source = "hermes-agent 0.19.0 tools/tool_result_storage.py"

    limit: int = integer(100_000, "Longest result inserted whole.", "characters", maximum=1_000_000, group="result")
    batch_budget: int = integer(
        200_000,
        "Maximum total of a batch of results; the largest are stored until it fits.",
        "characters",
        maximum=10_000_000,
        group="batch",
    )
    preview: int = integer(1_500, "Characters shown of a stored result.", "characters", maximum=100_000)
    window: int = integer(
        0,
        "Context window: at most 15 % per result, 30 % per batch; 0: budgets only.",
        "tokens",
        maximum=10_000_000,
        is_assumed=True,
    )
    mcp_limit: int = integer(
        0,
        "Limit for tools named mcp_…; 0: the general one; Hermes 0.21 has 50,000.",
        "characters",
        maximum=1_000_000,
        group="result",
    )
    exempt_tools: tuple[str, ...] = tools(
        ("read_file",),
        "Tools without a limit per result, such as those that read stored results.",
        about=ToolList.LEFT_ALONE,
    )
    folder: str = string(
        "/tmp/hermes-results",  # noqa: S108  quoted from the described system's notice; nothing is saved here
        "Folder of saved results, as named in the notice; empty if none is saved.",
    )

    def schedule(self, history: History) -> Schedule:
        builder = ScheduleBuilder(history)
        budgets = budgets_for_window(self.window, self.limit, self.batch_budget)
        results = history.results[history.enters[history.results] != NEVER]
        exempt = tool_kind_mask(history.tool_names, (), self.exempt_tools)[history.tool[results]]
        stored: dict[int, int] = {}
        limits = {tool: self.limit_for(tool, budgets.result) for tool in history.tool_names}
        of_tool = np.array([*limits.values(), budgets.result], dtype=np.int64)[history.tool[results]]
        for limit in dict.fromkeys((budgets.result, *limits.values())):
            large = results[(of_tool == limit) & (history.characters[results] > limit) & ~exempt]
            operation = StoreText(limit, self.preview, self.folder)
            builder.add_at_insertion(large, Decision(operation, "large result", "result"))
            stored.update(dict.fromkeys(large.tolist(), limit))
        spilled = self._spilled(history, budgets, stored)
        everything = Decision(StoreText(0, self.preview, self.folder), "largest of a large batch", "batch")
        builder.add_at_insertion(spilled, everything)
        return builder.schedule()

    def limit_for(self, tool: str, limit: int) -> int:
        """Return the longest result of a tool that is inserted whole, given the general limit."""
        return min(limit, self.mcp_limit) if self.mcp_limit and tool.startswith("mcp_") else limit

    def _spilled(self, history: History, budgets: Budgets, stored: dict[int, int]) -> NDArray[np.int32]:
        """Return the results stored because their batch is over budget, largest first; `stored` grows by them."""
        runs = result_runs(history)[history.message[history.results]]
        sent = runs >= 0
        results, runs = history.results[sent], runs[sent]
        totals = np.bincount(runs, weights=history.characters[results])
        spilled: list[int] = []
        by_run = np.argsort(runs, kind="stable")
        bounds = np.searchsorted(runs[by_run], np.arange(len(totals) + 1))
        for run in np.flatnonzero(totals > budgets.batch).tolist():
            batch = results[by_run[bounds[run] : bounds[run + 1]]].tolist()
            lengths = {block: int(history.characters[block]) for block in batch}
            for block in batch:
                if block in stored:
                    lengths[block] = self._stored_length(history, block, stored[block])
            total = sum(lengths.values())
            waiting = [block for block in batch if block not in stored and not _is_stored(history, block)]
            for block in sorted(waiting, key=lengths.__getitem__, reverse=True):
                if total <= budgets.batch:
                    break
                if lengths[block]:
                    total += self._stored_length(history, block, 0) - lengths[block]
                    spilled.append(block)
        return np.array(spilled, dtype=np.int32)

    def _stored_length(self, history: History, block: int, limit: int) -> int:
        whole = Rendition.whole(int(history.characters[block]))
        try:
            return (
                StoreText(limit, self.preview, self.folder).apply(whole, RecordedBlock(history.session, block)).length
            )
        except TextUnavailableError:
            return whole.length


def _is_stored(history: History, block: int) -> bool:
    """Return True if the recorded text is already a stored result's notice."""
    try:
        return OPENING_TAG in history.session.text(history.session.blocks[block])
    except TextUnavailableError:
        return False
