"""Contents of one prompt: its blocks in provider tokens, the part outside blocks, and how full it is.

Also finds tool results that a later block in the prompt supersedes: read again, repeated, edited since.

Detect user-side texts that the agent's program wrote: one rule for every page that divides a prompt.

If the format marks injected messages, these marks decide. In other formats, a text is injected if it begins with a
known prefix that programs add: reminders, task notices, command output, instructions, hooks.

Unrecorded parts of prompts: system prompt and tools, and framing around texts.

The size of the system prompt and the tools comes from the fit to reported usage: it is the constant part of a model's
prompts beyond the recorded text, at the start of their context. The remainder of a prompt after these, all texts and
the thinking consists of block envelopes, unrecorded reasoning, and the fit's error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from inspector.replay.analysis.alternatives import is_idle_compaction
from inspector.replay.figure import Figure, HowKnown
from inspector.replay.pricing.context_window import compaction_size
from inspector.session.files import joined_path, same_file
from inspector.session.model import BlockKind
from inspector.strategies.core.operations import Action
from inspector.strategies.history.memo import cached_per_history
from inspector.strategies.history.reads import names_a_part, path_of, reads_of
from inspector.strategies.history.tools import ToolKind, tool_kind_mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.replay.engine.inputs import ReplayInputs
    from inspector.replay.engine.replay import ContextState, Replay
    from inspector.strategies.history.history import History


INJECTED: Final = "injected text"
"""Label of such texts: the usual term for text that a program adds in the user's role."""


BEGINNINGS: Final = (
    "# agents.md instructions",
    "<bash-stderr>",
    "<bash-stdout>",
    "<collaboration_mode>",
    "<environment_context>",
    "<environment_details>",
    "<environment_information>",
    "<hook_prompt",
    "<local-command-",
    "<new-diagnostics>",
    "<permissions instructions>",
    "<subagent_notification>",
    "<system-reminder>",
    "<system_reminder>",
    "<task-notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<teammate-message",
    "<user-prompt-submit-hook",
    "[request interrupted by user",
    "caveat: the messages below",
    "stop hook feedback:",
)
"""Lower-case prefixes of injected texts."""


QUOTED: Final = "the user sent the following message:"
"""Follows a prefix if the program only forwards user input from the meantime."""


@cached_per_history
def injected_blocks(history: History) -> NDArray[np.bool_]:
    """Return True per block for user-side text that the program wrote, bool."""
    found = np.zeros(len(history.kind), dtype=np.bool_)
    messages, blocks = history.session.messages, history.session.blocks
    for block in np.flatnonzero(history.kind == BlockKind.USER_TEXT).tolist():
        found[block] = messages[history.message[block]].is_meta or _is_marked(blocks[block].preview)
    return found


def _is_marked(text: str) -> bool:
    """Return True if a text begins with a known prefix; forwarded text is tested too, because it may be a notice."""
    text = text.lstrip().lower()
    mark = next((each for each in BEGINNINGS if text.startswith(each)), "")
    forwarded = text.removeprefix(mark).lstrip()
    return _is_marked(forwarded.removeprefix(QUOTED)) if forwarded.startswith(QUOTED) and mark else bool(mark)


SYSTEM_AND_TOOLS = "system prompt and tools"
"""Name of system prompt and tools in data."""


NOT_RECORDED = "system prompt and tools (not recorded)"


NOT_RECORDED_SHORT = "system and tools"


_ROUNDING = 1e-6
"""Tolerance when rounding down a remainder that is a whole number."""


EARLIER = "earlier conversation (not recorded)"
"""Label for a file that begins mid-conversation: a prompt was reported, but none of its contents are recorded."""


AROUND_TEXTS = "framing and signatures"
"""Name of the remainder, in data and for users."""


UNRECORDED = (SYSTEM_AND_TOOLS, AROUND_TEXTS)


def system_tokens(inputs: ReplayInputs) -> int:
    """Return tokens of the unrecorded system prompt and tools in the newest prompt."""
    return round(float(system_by_call(inputs)[-1]))


def system_by_call(inputs: ReplayInputs) -> NDArray[np.float64]:
    """Return tokens of the unrecorded system prompt and tools per call including the next one: whole numbers, float64.

    One value per call for all screens and reports, whatever the plan: what is fitted to all calls, at most the part of
    the prompt outside blocks and envelopes, so that a plan that cuts all blocks leaves it unchanged.
    """
    sizes, layout = inputs.sizes, inputs.layout
    counted = np.maximum(layout.with_envelopes, layout.with_thinking) - inputs.recorded_removed
    rest = sizes.whole - sizes.ratio * counted
    overhead = np.maximum(np.rint(inputs.scale.calibration.call_overhead), 0)
    system: NDArray[np.float64] = np.minimum(overhead, np.floor(np.maximum(rest, 0) + _ROUNDING))
    return system


def blank_prompts(inputs: ReplayInputs) -> NDArray[np.bool_]:
    """Return True per call with a reported prompt but no recorded block, as in a file that begins late."""
    blank: NDArray[np.bool_] = inputs.reported & (inputs.history.call_prompt_messages[:-1] == 0)
    return blank


def lacks_beginning(inputs: ReplayInputs, call: int) -> bool:
    """Return True if a call, or the next one, is in a context that began with such a prompt."""
    history, contexts = inputs.history, inputs.layout.contexts
    if not contexts:  # a file without a message
        return False
    context = contexts[int(history.call_context[call])]
    first = int(context.calls[0]) if len(context.calls) else call
    return first < history.call_count and bool(blank_prompts(inputs)[first])


def system_sent(replay: Replay, texts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `system_by_call` of recorded calls, at most the prompt outside its texts (from `resend_cost`)."""
    return np.minimum(system_by_call(replay.inputs)[:-1], np.maximum(replay.ledger.prompt_tokens - texts, 0))


def system_cost(replay: Replay, tokens: NDArray[np.float64]) -> float:
    """Return dollars of the unrecorded system prompt and tools, which caches cover first; NaN without a price."""
    read_rate, other_rate = replay.inputs.rates.read_and_other(replay.ledger)
    read = np.minimum(tokens, replay.ledger.cache_read)
    return float((read * read_rate + (tokens - read) * other_rate).sum())


@dataclass(frozen=True, eq=False)
class ContextBlocks:
    """One call's prompt under a plan; compares by identity.

    The blocks' tokens and the rest add up to the prompt, and none is negative.

    Attributes:
        call: The call; the number of recorded calls is the next prompt.
        blocks: Block indices in the order they are sent, including blocks the plan removed, int32.
        sent: Tokens sent of each block's text; for thinking, of its signature or reported length, float64.
        recorded: The same tokens without the plan: whole, unless the agent itself cleared the block, float64.
        rest: Tokens outside blocks: unrecorded system prompt and tools, envelopes.
        system: The system prompt and tools part of the rest.
        prompt: Tokens of the whole prompt.
        known: Confidence of the blocks' tokens and the rest.
    """

    call: int
    blocks: NDArray[np.int32]
    sent: NDArray[np.float64]
    recorded: NDArray[np.float64]
    rest: float
    system: float
    prompt: Figure
    known: HowKnown


class Fill(NamedTuple):
    """How full a prompt is of the size at which the agent compacts, or without one the window; None if unknown."""

    prompt: Figure
    size: Figure
    is_window: bool

    @property
    def share(self) -> float | None:
        """The prompt as a share of the size; None if unknown."""
        return None if not self.size.value or self.prompt.value is None else self.prompt.value / self.size.value


def fill_at(replay: Replay, call: int) -> Fill:
    """Return how full a call's prompt is; the number of recorded calls is the next prompt."""
    window, session = replay.inputs.window, replay.history.session
    size = compaction_size(session.format, session.agent, window, _compacted_at(replay.history))
    is_window = size.value is None
    return Fill(prompt_at(replay, call), window.tokens if is_window else size, is_window)


@cached_per_history
def _compacted_at(history: History) -> tuple[int, ...]:
    """Return the recorded prompts at which automatic compactions fired, without those of idle sessions.

    A single compaction without a recorded trigger may have been requested by the user.
    """
    session, found = history.session, []
    for place, each in enumerate(session.compactions):
        if each.is_partial or each.trigger == "manual" or is_idle_compaction(session, place):
            continue
        calls = (call for call in reversed(session.calls) if call.response < each.message)
        usage = next((call.usage for call in calls if not session.messages[call.response].thread), None)
        size = each.tokens_before or (usage.prompt if usage is not None else 0)
        if size:
            found.append((size, each.trigger))
    return tuple(size for size, trigger in found if trigger or len(found) > 1)


def context_at(replay: Replay, state: ContextState) -> ContextBlocks:
    """Return the contents of a call's prompt; `state` is `replay.state` at the call."""
    inputs, call = replay.inputs, state.call
    ratio = float(inputs.sizes.ratio[call])
    blocks = replay.history.prompt(call)
    envelopes = inputs.layout.envelopes[blocks]
    is_removed = state.action[blocks] == Action.REMOVED
    whole = state.recorded[blocks] + envelopes
    sent = state.sent[blocks] + np.where(is_removed, 0, envelopes)
    prompt, known = _prompt(replay, call, int(whole.sum()) - int(sent.sum())), inputs.scale.known
    tokens = int(prompt.value or 0)
    # A block has the tokens of its text or thinking; envelopes are in the rest.
    recorded_counted, counted = _counted_without_plan(replay, call)[blocks], counted_as_sent(replay, state, blocks)
    recorded_scaled = recorded_counted * _ratio_within(ratio, recorded_counted, round(float(inputs.sizes.whole[call])))
    sent_scaled = counted * _ratio_within(ratio, counted, tokens)
    rest = max(tokens - float(sent_scaled.sum()), 0.0)
    system = min(float(system_by_call(inputs)[call]), rest)
    return ContextBlocks(call, blocks, sent_scaled, recorded_scaled, rest, system, prompt, known)


def shown_state(replay: Replay, state: ContextState) -> ContextState:
    """Return a state with the tokens that screens show: of `context_at`, or a block's own outside the prompt."""
    inputs, counted = replay.inputs, counted_as_sent(replay, state, slice(None))
    prompt = int(prompt_at(replay, state.call).value or 0)
    ratio = _ratio_within(float(inputs.sizes.ratio[state.call]), counted, prompt)
    recorded = np.where(state.in_prompt, np.rint(ratio * inputs.whole_counts), inputs.block_tokens)
    return replace(state, recorded=recorded.astype(np.int32), sent=np.rint(ratio * counted).astype(np.int32))


def prompt_at(replay: Replay, call: int) -> Figure:
    """Return tokens of a call's prompt as in `context_at`; call `history.call_count` is the next prompt."""
    return _prompt(replay, call, int(replay.prompt_edits.removed[call]))


def _prompt(replay: Replay, call: int, counted: int) -> Figure:
    """Return tokens of a prompt, given the counted tokens removed from it by the agent and the plan."""
    inputs = replay.inputs
    # Sum counted tokens first and scale once, as the ledger does, to get the same rounding.
    removed = round(float(inputs.sizes.ratio[call]) * (counted - int(inputs.recorded_removed[call])))
    tokens = max(round(float(inputs.sizes.whole[call])) - removed, 0)
    is_whole = call < replay.history.call_count and removed == 0
    return Figure(tokens, inputs.prompt_known(call) if is_whole else inputs.scale.known)


def _counted_without_plan(replay: Replay, call: int) -> NDArray[np.float64]:
    """Return counted tokens of every block as the recorded agent sends it at a call, float64."""
    edits = replay.inputs.recorded_edits
    rows = edits.in_force(call)
    sent = replay.table.tokens.astype(np.float64)
    thinking = replay.inputs.layout.thinking_uncounted.astype(np.float64)
    sent[edits.block[rows]] = edits.tokens[rows]
    thinking[edits.block[rows[edits.action[rows] == Action.REMOVED]]] = 0
    return sent + thinking


def _ratio_within(ratio: float, counted: NDArray[np.float64], prompt: int) -> float:
    """Return provider tokens per counted token, less where blocks would exceed their prompt, as rounded."""
    return min(ratio, prompt / max(float(counted.sum()), 1.0))


def counted_as_sent(
    replay: Replay, state: ContextState, blocks: NDArray[np.integer[Any]] | slice
) -> NDArray[np.float64]:
    """Return counted tokens sent of blocks in a state; for thinking, of its signature or reported length. float64."""
    is_sent = state.in_prompt[blocks] & (state.action[blocks] != Action.REMOVED)
    thinking = np.where(is_sent, replay.inputs.layout.thinking_uncounted[blocks], 0)
    counted: NDArray[np.float64] = (state.sent[blocks] + thinking).astype(np.float64)
    return counted


SHORTEST = 80
"""Minimum characters of a repetition: short results such as `ok` are often equal."""


class RepeatKind(StrEnum):
    """Reason a result is redundant."""

    SAME = "same text again later"
    """A later result in the prompt has exactly the same text."""
    READ_AGAIN = "read again later"
    """A later read of the same file or part of it has different content."""
    EDITED = "edited since"
    """The file was edited or written after it was read, and not read again."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A result that a later block supersedes: both as block indices, and the file, empty if none is named."""

    block: int
    kind: RepeatKind
    later: int
    path: str


def repeats_in(history: History, context: ContextBlocks) -> tuple[Repeat, ...]:
    """Return every result sent in a prompt that a later block in it supersedes, in the order they are sent."""
    session, blocks = history.session, history.session.blocks
    reads = reads_of(history, ())
    home = session.working_directory
    read_paths = [joined_path(home, path) for path in reads.paths]
    path_of_read = {
        result: read_paths[file] for result, file in zip(reads.results.tolist(), reads.files.tolist(), strict=True)
    }
    edit_calls = tool_kind_mask(history.tool_names, (ToolKind.EDIT, ToolKind.WRITE))[history.tool[context.blocks]]
    edit_calls &= history.kind[context.blocks] == BlockKind.TOOL_CALL
    results = (history.kind[context.blocks] == BlockKind.TOOL_RESULT) & (context.sent > 0)
    same: dict[bytes, int] = {}
    later_reads: dict[str, list[int]] = {}
    edited: dict[str, int] = {}
    found: list[Repeat] = []
    places = np.flatnonzero(edit_calls | results)[::-1].tolist()
    for place in places:
        index = int(context.blocks[place])
        block = blocks[index]
        if edit_calls[place]:
            edited[same_file(joined_path(home, path_of(session, block)))] = index
            continue
        path = path_of_read.get(index, "")
        file = same_file(path)
        again = _read_again(history, index, later_reads.get(file, [])) if path else -1
        if block.characters >= SHORTEST and block.digest in same:
            found.append(Repeat(index, RepeatKind.SAME, same[block.digest], path))
        elif again >= 0:
            found.append(Repeat(index, RepeatKind.READ_AGAIN, again, path))
        elif path and file in edited:
            found.append(Repeat(index, RepeatKind.EDITED, edited[file], path))
        same[block.digest] = index
        if path:
            later_reads.setdefault(file, []).append(index)
    return tuple(reversed(found))


def _read_again(history: History, result: int, later: list[int]) -> int:
    """Return the next read of the same file that covers at least the same range, or -1."""
    session, blocks = history.session, history.session.blocks
    arguments = blocks[int(history.call_block[result])].digest
    for other in reversed(later):
        call = blocks[int(history.call_block[other])]
        if call.digest == arguments or not names_a_part(session, call):
            return other
    return -1
