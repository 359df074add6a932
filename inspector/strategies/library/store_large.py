"""Store large tool results outside the conversation when they are inserted, leaving a preview and the file's name.

Source: hermes-agent 0.19.0 `tools/tool_result_storage.py` and `tools/budget_config.py`, which replaced the proposal
behind `trim-at-insertion`. Two rules act when a batch of results is inserted. A result over its own limit is stored.
Then, while the batch as a whole is over its budget, its largest result is stored. Since 0.21 results of MCP servers'
tools have a limit of 50,000 characters (`mcp-limit`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from inspector.session.model import TextUnavailableError
from inspector.strategies.core.operations import RecordedBlock
from inspector.strategies.core.parameters import ToolList
from inspector.strategies.core.parametrized import Parametrized, integer, string, tools
from inspector.strategies.core.rendition import Rendition
from inspector.strategies.core.schedule_builder import ScheduleBuilder
from inspector.strategies.core.stored_previews import OPENING_TAG, persisted_output
from inspector.strategies.core.strategy import Decision
from inspector.strategies.history.freshness import result_runs
from inspector.strategies.history.history import NEVER
from inspector.strategies.history.tools import tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.strategies.core.operations import BlockSource
    from inspector.strategies.core.strategy import Schedule
    from inspector.strategies.history.history import History

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
        """Return the results stored because their batch is over its budget, largest first.

        Args:
            history: The recorded history.
            budgets: Maximum sizes.
            stored: Results over their own limits; the results found here are added.
        """
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
