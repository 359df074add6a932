"""Divide one call's prompt by role, tool, file, tier or age, with the cost of carrying each part."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector.file_history.history import FileEvent, FileEventKind, FileHistory
from inspector.file_history.shell import first_word, shell_effects
from inspector.replay.analysis.context_blocks import (
    AROUND_TEXTS,
    EARLIER,
    INJECTED,
    NOT_RECORDED,
    ContextBlocks,
    Repeat,
    RepeatKind,
    context_at,
    injected_blocks,
    lacks_beginning,
    repeats_in,
    system_cost,
    system_sent,
)
from inspector.session.files import joined_path, relative_path, same_file
from inspector.session.model import BlockKind
from inspector.strategies.core.strategy import TieredStrategy
from inspector.strategies.history.reads import argument_memo, path_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask
from inspector.strategies.library.old_results import TieredStale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from inspector.replay.analysis.breakdown import ResendCost
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.replay.figure import HowKnown
    from inspector.strategies.history.history import History


class Grouping(StrEnum):
    """Criterion for dividing a prompt."""

    ROLE = "role"
    TOOL = "tool"
    FILE = "file"
    TIER = "tier"
    AGE = "age"
    REPEATS = "repeats"
    """Only blocks that a later block in the prompt supersedes."""


class Scope(StrEnum):
    """Range of blocks to include."""

    WINDOW = "window"
    """Blocks of one call's prompt."""
    SESSION = "session"
    """Blocks of any call's prompt."""


ALL_PROMPTS = "all prompts, without output"

WHOLE = {Scope.WINDOW: "this window", Scope.SESSION: ALL_PROMPTS}
"""Labels of the total. Only all prompts include the cost of earlier windows' blocks. Neither includes output cost."""

NO_TOOL = "texts (no tool)"

NO_FILE = "(no file)"
"""Suffix for parts without a file."""

NO_RESULT = "texts and calls"

SUMMARY = "summaries"

HIDDEN_THINKING = "thinking (not recorded)"
"""Thinking without a recorded text or signature."""

_ROLES = {
    BlockKind.SYSTEM_TEXT: "system messages",
    BlockKind.USER_TEXT: "user",
    BlockKind.ASSISTANT_TEXT: "assistant",
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool calls",
    BlockKind.TOOL_RESULT: "tool results",
    BlockKind.IMAGE: "images",
    BlockKind.DOCUMENT: "documents",
    BlockKind.OTHER: "other",
}


@dataclass(frozen=True, eq=False)
class ContextPart:
    """A part of a prompt; compares by identity.

    Attributes:
        name: Its label; may contain session text.
        blocks: Its block indices, int32; empty for tokens outside blocks.
        tokens: Its tokens sent in the call's prompt, on the provider's scale.
        recorded: The same tokens without the plan.
        token_calls: Its token-calls over all recorded calls.
        cost: Dollars of those; NaN without a price.
    """

    name: str
    blocks: NDArray[np.int32]
    tokens: float
    recorded: float
    token_calls: float
    cost: float


@dataclass(frozen=True, eq=False)
class ContextBreakdown:
    """Parts of one prompt or of a session's prompts; compares by identity.

    Attributes:
        everything: The total as one part, including tokens outside blocks.
        parts: The largest first, ages from the newest on.
        repeats: By block index, the block's superseding block; only for that grouping.
    """

    grouping: Grouping
    scope: Scope
    context: ContextBlocks
    everything: ContextPart
    parts: tuple[ContextPart, ...]
    repeats: dict[int, Repeat]


@dataclass(frozen=True, slots=True)
class Consumer:
    """Usage of one block.

    Attributes:
        tokens: Its tokens sent in the call's prompt, on the provider's scale.
        recorded: The same tokens without the plan; 0 if it is not in the prompt.
        calls: Number of recorded calls with it in the prompt.
        cost: Dollars of those; NaN without a price.
    """

    block: int
    tokens: float
    recorded: float
    calls: int
    token_calls: float
    cost: float


def context_breakdown(
    replay: Replay,
    state: ContextState,
    resend: ResendCost,
    grouping: Grouping,
    scope: Scope = Scope.WINDOW,
) -> ContextBreakdown:
    """Divide one prompt, or all prompts; `state` is `replay.state` at the call, `resend` from `resend_cost`."""
    history, context = replay.history, context_at(replay, state)
    count = len(history.kind)
    sent, recorded = np.zeros(count), np.zeros(count)
    sent[context.blocks], recorded[context.blocks] = context.sent, context.recorded
    blocks = context.blocks if scope is Scope.WINDOW else _ever_sent(context, resend)
    repeats = repeats_in(history, context) if grouping is Grouping.REPEATS else ()
    codes, names = codes_of(replay, grouping, blocks, context.call, repeats)

    def part(name: str, members: NDArray[np.int32]) -> ContextPart:
        columns = (sent, recorded, resend.tokens, resend.cost)
        return ContextPart(name, members, *(float(column[members].sum()) for column in columns))

    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    parts = [part(name, blocks[order[bounds[at] : bounds[at + 1]]]) for at, name in enumerate(names)]
    parts = [each for each in parts if len(each.blocks)]
    everything, rest = _totals(replay, context, part(WHOLE[scope], blocks), resend)
    if grouping is not Grouping.REPEATS:
        parts += rest
    if grouping is not Grouping.AGE:
        parts.sort(key=lambda each: -(each.tokens if scope is Scope.WINDOW else each.token_calls))
    return ContextBreakdown(
        grouping, scope, context, everything, tuple(parts), {repeat.block: repeat for repeat in repeats}
    )


def _ever_sent(context: ContextBlocks, resend: ResendCost) -> NDArray[np.int32]:
    was_sent = resend.calls > 0
    was_sent[context.blocks] = True
    return np.flatnonzero(was_sent).astype(np.int32)


def _totals(
    replay: Replay, context: ContextBlocks, shown: ContextPart, resend: ResendCost
) -> tuple[ContextPart, list[ContextPart]]:
    """Return the total, and the parts outside blocks: system prompt and tools, and envelopes.

    Their cost is the cost in all prompts, as for every block. The total covers the included blocks and these parts,
    without blocks of other prompts.
    """
    ledger = replay.ledger
    none = np.zeros(0, dtype=np.int32)
    system = system_sent(replay, resend.by_call)
    system_calls, of_system = float(system.sum()), system_cost(replay, system)
    left = float((ledger.prompt_tokens - resend.by_call - system).sum())
    cost_left = float(replay.inputs.rates.cost(ledger).sum()) - float(resend.cost.sum()) - of_system
    around = context.rest - context.system
    unseen = EARLIER if lacks_beginning(replay.inputs, context.call) else NOT_RECORDED
    rest = [
        ContextPart(unseen, none, context.system, context.system, system_calls, of_system),
        ContextPart(AROUND_TEXTS, none, around, around, left, cost_left),
    ]
    rest = [part for part in rest if part.token_calls or part.tokens or part.name == AROUND_TEXTS]
    prompt = float(context.prompt.value or 0)
    token_calls, cost = (shown.token_calls + system_calls + left, shown.cost + of_system + cost_left)
    return ContextPart(
        shown.name, shown.blocks, prompt, prompt + shown.recorded - shown.tokens, token_calls, cost
    ), rest


def consumers_of(
    breakdown: ContextBreakdown, blocks: NDArray[np.int32], resend: ResendCost, most: int
) -> tuple[Consumer, ...]:
    """Return the blocks of a part with the most tokens in the prompt, or the highest cost over the session."""
    count = len(resend.calls)
    sent, recorded = np.zeros(count), np.zeros(count)
    context = breakdown.context
    sent[context.blocks], recorded[context.blocks] = context.sent, context.recorded
    if breakdown.scope is Scope.WINDOW:
        amounts = sent[blocks]
    else:
        cost = resend.cost[blocks]
        amounts = resend.tokens[blocks] if np.isnan(cost).any() else cost
    order = np.argsort(-amounts, kind="stable")[:most]
    columns = (sent, recorded, resend.calls, resend.tokens, resend.cost)
    chosen = blocks[order]
    rows = zip(chosen.tolist(), *(column[chosen].tolist() for column in columns), strict=True)
    return tuple(Consumer(*row) for row in rows)


def codes_of(
    replay: Replay, grouping: Grouping, blocks: NDArray[np.int32], call: int, repeats: Sequence[Repeat]
) -> tuple[NDArray[np.int64], list[str]]:
    """Return each block's part (-1 for none, int64), and the parts' names. Ages are counted from `call`."""
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


def _by_role(history: History, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    names = [*_ROLES.values(), SUMMARY, INJECTED, HIDDEN_THINKING]
    messages = history.session.messages
    of_message = history.message[blocks]
    summary = np.array([messages[index].is_summary for index in of_message.tolist()], dtype=bool)
    kind = history.kind[blocks].astype(np.int64)
    reported = kind == BlockKind.USER_TEXT
    hidden = (kind == BlockKind.THINKING) & (history.characters[blocks] == 0) & (history.signature[blocks] == 0)
    codes = np.where(injected_blocks(history)[blocks], names.index(INJECTED), kind)
    codes = np.where(hidden, names.index(HIDDEN_THINKING), codes)
    return np.where((reported | (kind == BlockKind.ASSISTANT_TEXT)) & summary, names.index(SUMMARY), codes), names


def _by_file(history: History, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    kind = history.kind[blocks]
    calls = np.where(kind == BlockKind.TOOL_CALL, blocks, history.call_block[blocks])
    calls = np.where((kind == BlockKind.TOOL_CALL) | (kind == BlockKind.TOOL_RESULT), calls, -1)
    asked = np.unique(calls[calls >= 0])
    numbers: dict[str, int] = {}
    part_of_call = {
        call: numbers.setdefault(part, len(numbers))
        for call, part in zip(asked.tolist(), _named_by_calls(history, asked), strict=True)
        if part
    }
    # Blocks without a file are divided by kind: they can be most of a prompt.
    tool = history.tool[blocks].astype(np.int64)
    roles, role_names = _by_role(history, blocks)
    others = [f"{name} {NO_FILE}" for name in (*history.tool_names, *role_names)]
    unnamed = len(numbers) + np.where(tool >= 0, tool, len(history.tool_names) + roles)
    codes = np.array([part_of_call.get(call, -1) for call in calls.tolist()], dtype=np.int64)
    return np.where(codes < 0, unnamed, codes), [*numbers, *others]


def _named_by_calls(history: History, calls: NDArray[np.int32]) -> list[str]:
    """Return the file of each call, otherwise the program its command begins with; empty if it has neither."""
    session = history.session
    home = session.working_directory
    made = [session.blocks[call] for call in calls.tolist()]
    runs = tool_kind_mask(history.tool_names, (ToolKind.SHELL,))[history.tool[calls]]
    names: dict[str, str] = {}
    found = []
    for call, path, is_command in zip(made, path_of.each(session, made), runs.tolist(), strict=True):
        program = ""
        if is_command and not path:
            named, program = _about_command(session, call)
            path = named
        # Agents use both absolute and relative paths; paths below the working directory are made relative to it.
        path = joined_path(home, path)
        path = relative_path(home, names.setdefault(same_file(path), path))
        found.append(path or (f"{call.tool_name}: {program}" if program else ""))
    return found


def _of_command(arguments: dict[str, Any]) -> tuple[str, str]:
    effects = shell_effects(arguments)
    if effects is None:
        return "", ""
    return joined_path(effects.folder, effects.only_file), first_word(effects.command)


_about_command = argument_memo(_of_command, ("", ""))
"""The file of a command that only prints or writes one file, and the program it begins with; empty for none."""


def _by_tier(replay: Replay, blocks: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[str]]:
    """Divide by the tiers of the plan's own strategy that has any, or of the one that fits the session."""
    history = replay.history
    own = (entry.strategy for entry in replay.plan.entries if isinstance(entry.strategy, TieredStrategy))
    strategy = next(own, None) or TieredStale.for_session(history.session)
    tiers = strategy.tiers
    of_tool = np.array([tiers.index(strategy.tier_of(name)) for name in (*history.tool_names, "")], dtype=np.int64)
    is_result = history.kind[blocks] == BlockKind.TOOL_RESULT
    return np.where(is_result, of_tool[history.tool[blocks]], len(tiers)), [*tiers, NO_RESULT]


def _by_age(history: History, blocks: NDArray[np.int32], call: int) -> tuple[NDArray[np.int64], list[str]]:
    """Divide by the number of calls since a block entered, in steps that double."""
    age = call - np.minimum(history.enters[blocks].astype(np.int64), call)
    codes = np.ceil(np.log2(age + 1)).astype(np.int64)
    most = int(codes.max(initial=0))
    names = ["new in this call", "1 call ago"]
    names += [f"{2 ** (step - 1):,} to {2**step - 1:,} calls ago" for step in range(2, most + 1)]
    return codes, names


class ReadState(StrEnum):
    """Validity of a file's read at a call."""

    CURRENT = "current"
    EDITED = "edited since"
    """The file was edited, written or deleted after it was read."""
    PERHAPS = "maybe edited"
    """A command that names the file may have changed it after it was read."""


@dataclass(frozen=True, slots=True)
class EventInContext:
    """An operation on a file, as represented in a call's prompt.

    Attributes:
        tokens: Tokens of its result that were sent, on the provider's scale; None if the prompt does not contain it,
            and for a command that may have changed the file.
        read: Validity of the content it showed; None if it is not a read.
        is_later: True if it happened after the call.
    """

    tokens: float | None
    read: ReadState | None
    is_later: bool


@dataclass(frozen=True, slots=True)
class FileInContext:
    """A file, as represented in a call's prompt.

    Attributes:
        tokens: Tokens sent of the results of all operations on it; a result about several files counts for each.
        read: Validity of its last read; None if there was none by then.
        count: Number of operations on it by then.
        events: All operations on it, in order, including later ones.
    """

    path: str
    tokens: float
    read: ReadState | None
    count: int
    events: tuple[EventInContext, ...]


@dataclass(frozen=True, slots=True)
class FilesInContext:
    """A session's files in one call's prompt.

    Attributes:
        call: The call; the number of recorded calls is the next prompt.
        known: Confidence of the tokens.
        tokens: Tokens sent of the results of operations on any file, each result once.
        files: In the order of the first operation on each.
    """

    call: int
    known: HowKnown
    tokens: float
    files: tuple[FileInContext, ...]


def files_in_context(history: FileHistory, replay: Replay, state: ContextState) -> FilesInContext:
    """Return a session's files in a call's prompt; `state` is `replay.state` at the call."""
    context = context_at(replay, state)
    sent = dict(zip(context.blocks.tolist(), context.sent.tolist(), strict=True))
    is_next = state.call >= replay.history.call_count
    turn = history.turns if is_next else history.turn_of_call(state.call + 1)
    files = tuple(_file(path, events, sent, turn) for path, events in history.events.items())
    pairs = (zip(history.events[file.path], file.events, strict=True) for file in files)
    results = _by_result(pair for of_file in pairs for pair in of_file)
    return FilesInContext(state.call, context.known, sum(results.values()), files)


def _file(path: str, events: Sequence[FileEvent], sent: dict[int, float], turn: int) -> FileInContext:
    found: list[EventInContext] = []
    changed = ReadState.CURRENT
    for event in reversed(events):
        is_later = event.turn > turn
        tokens = sent.get(event.result_block) if event.is_certain and not is_later else None
        is_read = event.kind is FileEventKind.READ
        found.append(EventInContext(tokens, changed if is_read and not is_later else None, is_later))
        if event.kind.changes and not is_later and changed is not ReadState.EDITED:
            changed = ReadState.EDITED if event.is_certain else ReadState.PERHAPS
    found.reverse()
    last = next((each.read for each in reversed(found) if each.read is not None), None)
    total = sum(_by_result(zip(events, found, strict=True)).values())
    return FileInContext(path, total, last, sum(not each.is_later for each in found), tuple(found))


def _by_result(pairs: Iterable[tuple[FileEvent, EventInContext]]) -> dict[int, float]:
    """Return tokens by result, counting a result about several operations once."""
    return {event.result_block: each.tokens for event, each in pairs if each.tokens is not None}
