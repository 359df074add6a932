"""What blocks of a prompt can be told apart by: who said them, which tool, which file, which tier, how old."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from inspector.replay.repeats import RepeatKind
from inspector.session.model import BlockKind
from inspector.strategies.history.arguments import paths_of
from inspector.strategies.library.tiered_stale import TIERS, TieredStale, tiered_stale_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inspector.replay.repeats import Repeat
    from inspector.replay.replay import Replay
    from inspector.strategies.history.history import History


class Grouping(StrEnum):
    """What a prompt is divided by."""

    ROLE = "role"
    TOOL = "tool"
    FILE = "file"
    TIER = "tier"
    AGE = "age"
    REPEATS = "repeats"
    """Only what something later in the prompt stands for."""


NO_TOOL = "no tool"
NO_FILE = "no file named"
NO_RESULT = "no tool result"


def codes_of(
    replay: Replay, grouping: Grouping, blocks: NDArray[np.int32], call: int, repeats: Sequence[Repeat]
) -> tuple[NDArray[np.int64], list[str]]:
    """Which part each of some blocks belongs to.

    Args:
        replay: The plan on the session.
        grouping: What to tell blocks apart by.
        blocks: Their indices.
        call: The call that ages are counted from.
        repeats: What of them something later stands for.

    Returns:
        For each block the place of its part, -1 for none, int64; and the parts' names, which may hold session text.
    """
    history = replay.history
    match grouping:
        case Grouping.ROLE:
            return _by_role(history, blocks)
        case Grouping.TOOL:
            tool = history.tool[blocks].astype(np.int64)
            return np.where(tool < 0, len(history.tool_names), tool), [*history.tool_names, NO_TOOL]
        case Grouping.FILE:
            return _by_file(history, blocks)
        case Grouping.TIER:
            return _by_tier(replay, blocks)
        case Grouping.AGE:
            return _by_age(history, blocks, call)
        case Grouping.REPEATS:
            kinds = list(RepeatKind)
            place = {repeat.block: kinds.index(repeat.kind) for repeat in repeats}
            codes = np.array([place.get(block, -1) for block in blocks.tolist()], dtype=np.int64)
            return codes, [kind.value for kind in kinds]


_ROLES = {
    BlockKind.SYSTEM_TEXT: "system",
    BlockKind.USER_TEXT: "user",
    BlockKind.ASSISTANT_TEXT: "assistant",
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool calls",
    BlockKind.TOOL_RESULT: "tool results",
    BlockKind.IMAGE: "images",
    BlockKind.DOCUMENT: "documents",
    BlockKind.OTHER: "other",
}
SUMMARY, INJECTED = "summaries", "injected by the agent"


def _by_role(history: History, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    names = [*_ROLES.values(), SUMMARY, INJECTED]
    messages = history.session.messages
    of_message = history.message[blocks]
    summary = np.array([messages[index].is_summary for index in of_message.tolist()], dtype=bool)
    injected = np.array([messages[index].is_meta for index in of_message.tolist()], dtype=bool)
    kind = history.kind[blocks].astype(np.int64)
    said = kind == BlockKind.USER_TEXT
    codes = np.where(said & injected, names.index(INJECTED), kind)
    return np.where((said | (kind == BlockKind.ASSISTANT_TEXT)) & summary, names.index(SUMMARY), codes), names


def _by_file(history: History, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    kind = history.kind[blocks]
    calls = np.where(kind == BlockKind.TOOL_CALL, blocks, history.call_block[blocks])
    calls = np.where((kind == BlockKind.TOOL_CALL) | (kind == BlockKind.TOOL_RESULT), calls, -1)
    asked = np.unique(calls[calls >= 0])
    found = paths_of(history.session, [history.session.blocks[call] for call in asked.tolist()])
    numbers: dict[str, int] = {}
    home = history.session.working_directory.rstrip("/")
    # Agents name one file in either way; what is below where the agent works is named from there.
    found = [path.removeprefix(f"{home}/") if home else path for path in found]
    path_of_call = {
        call: numbers.setdefault(path, len(numbers)) for call, path in zip(asked.tolist(), found, strict=True) if path
    }
    none = len(numbers)
    codes = np.array([path_of_call.get(call, none) for call in calls.tolist()], dtype=np.int64)
    return codes, [*numbers, NO_FILE]


def _by_tier(replay: Replay, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    """By the tiers of the plan's own tiered truncation, or of the one that fits the session."""
    history = replay.history
    own = (entry.strategy for entry in replay.plan.entries if isinstance(entry.strategy, TieredStale))
    strategy = next(own, None) or tiered_stale_for(history.session)
    of_tool = np.array([TIERS.index(strategy.tier_of(name)) for name in (*history.tool_names, "")], dtype=np.int64)
    is_result = history.kind[blocks] == BlockKind.TOOL_RESULT
    return np.where(is_result, of_tool[history.tool[blocks]], len(TIERS)), [*TIERS, NO_RESULT]


def _by_age(history: History, blocks: NDArray[np.int32], call: int) -> tuple[NDArray[np.int64], list[str]]:
    """By how many calls ago a block came in, in steps that double."""
    age = call - np.minimum(history.enters[blocks].astype(np.int64), call)
    codes = np.ceil(np.log2(age + 1)).astype(np.int64)
    most = int(codes.max(initial=0))
    names = ["new in this call", "1 call ago"]
    names += [f"{2 ** (step - 1):,} to {2**step - 1:,} calls ago" for step in range(2, most + 1)]
    return codes, names
