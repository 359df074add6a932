"""Boundaries between messages: compactions, rewinds and subagents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from inspector.replay.analysis.costs import made_before
from inspector.replay.figure import HowKnown
from inspector.report.numbers import MINUS, ON_SCREEN
from inspector.safe_text import cell_width, one_line
from inspector.session.model import BlockKind, Compaction, Context, ContextCause, SideCall

if TYPE_CHECKING:
    from inspector.replay.analysis.compactions import (
        CompactionAftermath,
        CompactionEffect,
        CompactionSizes,
        RemovedPart,
        WorkStretch,
    )
    from inspector.replay.engine.replay import Replay
    from inspector.strategies.history.history import History
    from inspector.tokens.token_table import TokenTable

LONGEST_TOOL = 32
"""Maximum width of a tool's name in cells."""


@dataclass(frozen=True, eq=False)
class Boundary:
    """A place where the context changes.

    Attributes:
        history: The session's history.
        block: The first block after it.
        is_compaction: A full or partial compaction.
        cause: Label if no compaction was recorded.
        compaction: The recorded compaction, None if there is none.
        cleared: Partial compactions immediately before a full one, with no call between them.
    """

    history: History
    block: int
    is_compaction: bool
    cause: str = ""
    compaction: Compaction | None = None
    cleared: tuple[Compaction, ...] = ()

    @cached_property
    def effect(self) -> CompactionEffect | None:
        """Effect on the prompt; None without a call on both sides of the boundary."""
        # Most sessions begin without a compaction: do not delay the first rows by this import.
        from inspector.replay.analysis.compactions import CompactionEffect, calls_around

        around = calls_around(self.history, self.block)
        return None if around is None else CompactionEffect.between(self.history, *around)

    @cached_property
    def label(self) -> str:
        """Label, safe to show: `compaction, prompt 155,012 → 12,400 tokens, removed 214 blocks, kept 3`."""
        happened = () if self.effect is None else _happened(self.history, self.effect)
        if self.compaction is None:
            return ", ".join((self.cause, *happened))
        return compaction_label(self.compaction, (*happened, *(f"{_cleared(each)} before" for each in self.cleared)))


def boundaries_of(history: History) -> tuple[Boundary, ...]:
    """Return all boundaries of a session in block order, except one that no block follows yet."""
    session = history.session
    found: dict[int, tuple[bool, str, Compaction | None]] = {}
    by_message: dict[int, list[Compaction]] = {}
    for each in session.compactions:
        by_message.setdefault(each.message, []).append(each)
    compacted = {message: among[-1] for message, among in by_message.items()}
    for context in session.contexts:
        if context.cause is ContextCause.START:
            if context.thread and context.members:
                found.setdefault(context.members[0], (False, f"subagent {context.thread}", None))
            continue
        message = _first_message(context, compacted)
        if message is None:
            continue
        compaction = compacted.get(message)
        is_compaction = compaction is not None or context.cause is ContextCause.COMPACTION
        found[message] = (is_compaction, context.cause.value, compaction)
    for message, compaction in compacted.items():
        found.setdefault(message, (True, "", compaction))
    block_count = len(history.kind)
    placed = []
    for message in sorted(found):
        if 0 <= message < len(session.messages):
            block = int(history.message_first_block[message])
            if block < block_count:
                cleared = tuple(each for each in by_message.get(message, ())[:-1] if each.is_partial)
                placed.append(Boundary(history, block, *found[message], cleared))
    return tuple(placed)


def _happened(history: History, effect: CompactionEffect) -> tuple[str, ...]:
    """Describe the reported prompts before and after, and the numbers of blocks removed and kept."""
    parts = []
    before, after = (history.session.calls[call].usage for call in (effect.before, effect.after))
    if before is not None and after is not None and before.prompt and after.prompt:
        parts.append(f"{PROMPT} {ON_SCREEN.whole(before.prompt)} → {ON_SCREEN.whole(after.prompt)} tokens")
    if len(effect.removed):
        parts.append(f"removed {ON_SCREEN.plural(len(effect.removed), 'block')}")
        parts.append(f"kept {ON_SCREEN.whole(len(effect.kept))}")
    return tuple(parts)


PROMPT = "prompt"
SUMMARY_IS_NOT_THERE = "the summary is not in the file"
LISTED = 8
"""Maximum number of kinds of removed blocks listed separately."""


def effect_lines(boundary: Boundary, table: TokenTable, baseline: Replay | None = None) -> tuple[str, ...]:
    """Describe the blocks removed from the prompt at a boundary, by kind and tool, and those kept; one safe line each.

    Token counts are local estimates without `baseline`, the replay without a plan. Empty if nothing was removed, or if
    `table` is of a shorter session.
    """
    history, effect = boundary.history, boundary.effect
    if effect is None or not len(effect.removed) or len(table.tokens) < len(history.kind):
        return ()
    from inspector.replay.analysis.compactions import sizes_of

    sizes = None if baseline is None or baseline.history.session is not history.session else sizes_of(effect, baseline)
    how = HowKnown.ESTIMATED if sizes is None else sizes.known
    parts = effect.parts(history, table.tokens[effect.removed].astype(float) if sizes is None else sizes.removed)
    named = [(_part_name(part), part.blocks, part.tokens) for part in parts[:LISTED]]
    if len(parts) > LISTED:
        rest = parts[LISTED:]
        named.append(("others", sum(part.blocks for part in rest), sum(part.tokens for part in rest)))
    before, after = ON_SCREEN.whole(effect.before + 1), ON_SCREEN.whole(effect.after + 1)
    removed, kept, added = (
        ON_SCREEN.plural(len(each), "block") for each in (effect.removed, effect.kept, effect.added)
    )
    again = f", {ON_SCREEN.whole(len(effect.repeated))} of them recorded again" if len(effect.repeated) else ""
    tokens = f"{_tokens(sum(part.tokens for part in parts), how)} tokens"
    tokens += " (calibrated)" if how is HowKnown.CALIBRATED else ""
    lacks_summary = boundary.is_compaction and not len(effect.added)
    new = SUMMARY_IS_NOT_THERE if lacks_summary else f"new {added}"
    stayed = f"kept {kept}{again} · {new}"
    shrunk = "" if sizes is None else _shrunk(sizes)
    # The difference of the prompts is not the amount removed: if either is shown, both are named.
    heading = (
        (f"removed {removed}, {tokens} · {shrunk}", stayed) if shrunk else (f"removed {removed}, {tokens} · {stayed}",)
    )
    return (
        *heading,
        *(() if sizes is None else _sum_lines(sizes, lacks_summary=lacks_summary)),
        *_aligned(named, how),
        *(_describe_side_request(each) for each in made_before(history.session, effect.after)),
        "",
        *_agent_size_lines(boundary),
        f"Between calls {before} and {after}: g h shows call {before}, v the composition of its prompt.",
    )


def _shrunk(sizes: CompactionSizes) -> str:
    """Describe the difference of the prompts, `prompt -104,352 (reported)`; empty if they were not reported."""
    if sizes.prompts is None:
        return ""
    less = sizes.prompts[0] - sizes.prompts[1]
    return f"prompt {MINUS if less >= 0 else '+'}{ON_SCREEN.whole(abs(less))} (reported)"


def _sum_lines(sizes: CompactionSizes, *, lacks_summary: bool) -> tuple[str, ...]:
    """Derive the prompt after from the prompt before, the blocks removed and added, and an unexplained rest."""
    if sizes.prompts is None or sizes.rest is None:
        return ()
    before, after = (ON_SCREEN.whole(prompt) for prompt in sizes.prompts)
    steps = (
        (sizes.answer, "last answer"),
        (-sizes.removed_total, "removed"),
        (sizes.added, "new"),
        (sizes.rest, "other"),
    )
    text = "".join(
        f" {'+' if amount > 0 else MINUS} {_tokens(abs(amount), sizes.known)} {name}"
        for amount, name in steps
        if amount
    )
    why = "message framing, and content that is not in the file"
    if lacks_summary and sizes.rest > 0:
        why = "the summary, and other content that is not in the file"
    return (f"prompt {before}{text} = {after}", *((f"Other: {why}.",) if sizes.rest else ()))


def _agent_size_lines(boundary: Boundary) -> tuple[str, ...]:
    """Return the size noted by the agent if it differs from the prompt before."""
    compaction, effect = boundary.compaction, boundary.effect
    if compaction is None or effect is None or not compaction.tokens_before:
        return ()
    usage = boundary.history.session.calls[effect.before].usage
    if usage is None or not usage.prompt or usage.prompt == compaction.tokens_before:
        return ()
    recorded, prompt = ON_SCREEN.whole(compaction.tokens_before), ON_SCREEN.whole(usage.prompt)
    return (f"The agent recorded {recorded} tokens when it compacted; the previous prompt was reported as {prompt}.",)


def aftermath_lines(found: CompactionAftermath) -> tuple[str, ...]:
    """Compare the calls after a compaction with calls elsewhere in the session; one safe line each."""
    after, other = found.after, found.elsewhere
    until = "until the first file edit or finished step" if found.reached else "without a file edit or a finished step"
    calls, reads = ON_SCREEN.plural(found.calls, "call"), ON_SCREEN.plural(found.reads, "read")
    again = f"; {after.rereads:g} of {reads} repeated earlier reads" if found.reads else ""
    text = f"After it: {calls}, {_work(after)} {until}{again}."
    if other is None:
        return (text,)
    again = f"{other.rereads:g} {'re-read' if other.rereads == 1 else 're-reads'}"
    elsewhere = f"Elsewhere in this session, {calls} (median of {ON_SCREEN.whole(found.windows)} samples)"
    return (text, f"{elsewhere}: {_work(other)}, {again}.")


def _work(done: WorkStretch) -> str:
    usd = "" if done.usd is None else f", {ON_SCREEN.qualified(ON_SCREEN.dollars(done.usd), done.known['usd'])}"
    actions = f"{done.actions:g} {'action' if done.actions == 1 else 'actions'}"
    tokens = ON_SCREEN.qualified(ON_SCREEN.whole(done.tokens), done.known["tokens"])
    return f"{actions}, {tokens} tokens{usd}"


def _describe_side_request(call: SideCall) -> str:
    """Describe a side request made at the compaction."""
    name = one_line(call.purpose)
    if call.usage is None:
        return f"side request: {name}"
    sizes = f"{ON_SCREEN.whole(call.usage.prompt)} tokens in, {ON_SCREEN.whole(call.usage.output)} out"
    return f"side request: {name}, {sizes}, in no prompt of the conversation ($ shows its cost)"


def _part_name(part: RemovedPart) -> str:
    tool = one_line(part.tool, LONGEST_TOOL)
    if part.kind is BlockKind.TOOL_RESULT:
        return f"{tool} results" if tool else "tool results"
    if part.kind is BlockKind.TOOL_CALL:
        return f"{tool} calls" if tool else "tool calls"
    return part.kind.label


def _aligned(rows: list[tuple[str, int, int]], how: HowKnown) -> list[str]:
    names = max(cell_width(name) for name, _, _ in rows)
    blocks = max(len(ON_SCREEN.plural(count, "block")) for _, count, _ in rows)
    tokens = max(len(_tokens(amount, how)) for _, _, amount in rows)
    return [
        f"{name}{' ' * (names - cell_width(name))}  {ON_SCREEN.plural(count, 'block'):>{blocks}}"
        f"  {_tokens(amount, how):>{tokens}} tokens"
        for name, count, amount in rows
    ]


def _tokens(tokens: int, how: HowKnown) -> str:
    return ON_SCREEN.qualified(ON_SCREEN.whole(tokens), how.value)


def cleared_line(compaction: Compaction) -> str:
    """Describe a partial compaction without a call between it and the full one after it; a safe sentence."""
    saved = compaction.tokens_saved
    amount = "" if saved is None else f", {ON_SCREEN.whole(saved)} tokens by its own count"
    return f"Just before, the agent cleared {_results(compaction)}{amount}; no call in between."


def _cleared(compaction: Compaction) -> str:
    return f"{_results(compaction)} cleared"


def _results(compaction: Compaction) -> str:
    return ON_SCREEN.plural(len(compaction.cleared_tool_call_ids), "tool result")


def compaction_label(compaction: Compaction, happened: tuple[str, ...] = ()) -> str:
    """Describe a recorded compaction in one safe line, without the agent's sizes if `happened` has prompt sizes."""
    parts = [_cleared(compaction) if compaction.is_partial else "compaction", *happened]
    # If space is short, the effect is more important than the trigger.
    trigger = (one_line(compaction.trigger, 40),) if compaction.trigger else ()
    if happened and happened[0].startswith(PROMPT):
        return ", ".join((*parts, *trigger))
    if compaction.tokens_before is not None and compaction.tokens_after is not None:
        parts.append(f"{ON_SCREEN.whole(compaction.tokens_before)} → {ON_SCREEN.whole(compaction.tokens_after)} tokens")
    elif compaction.tokens_before is not None:
        parts.append(f"at {ON_SCREEN.whole(compaction.tokens_before)} tokens")
    elif compaction.tokens_saved is not None:
        parts.append(f"{ON_SCREEN.whole(compaction.tokens_saved)} tokens saved")
    return ", ".join((*parts, *trigger))


def _first_message(context: Context, compacted: dict[int, Compaction]) -> int | None:
    """Return the message after a context's boundary."""
    members, retained = context.members, context.retained
    if context.cause is ContextCause.COMPACTION:
        for message in members[: retained + 1]:
            if message in compacted and not compacted[message].is_partial:
                return message
    return members[retained] if retained < len(members) else None
